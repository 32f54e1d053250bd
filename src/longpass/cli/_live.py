"""Jobs as they are carried out: followed to their end or to Ctrl-C, live on a terminal."""

import abc
import time
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from rich.console import Console, RenderableType
from rich.live import Live

from longpass.cli._stopping import stopping

if TYPE_CHECKING:
    from longpass.jobs import Job, Update


class Work(abc.ABC):
    """What a live view counts: how much is done, running and left. A view renders itself.

    **Arguments:** `expected`: the core-seconds that a job is expected to take; `total`: those of
    all jobs to come; `workers`: how many are carried out at a time.
    """

    def __init__(self, expected: Callable[["Job"], float], total: float, workers: int):
        self.errors: list[str] = []
        self.running: dict[Job, Update] = {}
        self._began = time.monotonic()
        self._expected, self._total, self._workers = expected, total, workers
        self._over = 0.0  # expected seconds of jobs that are over

    def hear(self, update: "Update") -> None:
        """Take in news of a job."""
        if update.records is None and update.error is None:
            self.running[update.job] = update
        else:
            self.running.pop(update.job, None)
            self._over += self._expected(update.job)

    @property
    def spent(self) -> float:
        """Seconds since the beginning; never 0."""
        return max(time.monotonic() - self._began, 1e-9)

    @property
    def left(self) -> float:
        """About how many seconds are left."""
        shares = sum(self._expected(job) * one.share for job, one in self.running.items())
        progress = self._over + shares
        # Expected seconds are of one machine: what has been done tells how fast this one is.
        pace = self.spent / progress if progress > 30 else 1 / self._workers
        return max(0.0, self._total - progress) * pace

    @abc.abstractmethod
    def __rich__(self) -> RenderableType:
        """The view, as it is now."""


def follow(news: Generator["Update", Any, Any], view: Work, console: Console) -> bool:
    """Listen until all is over or the user asks to stop: whether it was stopped."""
    live = Live(view, console=console, refresh_per_second=2, transient=True)
    with stopping() as stop:
        if console.is_terminal:
            live.start()
        try:
            for update in news:
                view.hear(update)
                if stop():
                    news.close()
                    return True
        finally:
            live.stop()
    return False


def span(seconds: float) -> str:
    """A time in words, as coarse as an estimate is."""
    minutes = seconds / 60
    if minutes < 1:
        return f"{seconds:.0f} s"
    if minutes < 120:
        return f"{minutes:.0f} min"
    hours = minutes / 60
    return f"{hours:.1f} h" if hours < 72 else f"{hours / 24:.0f} days"
