"""Jobs as they run: followed to their end or to Ctrl-C, live on a terminal."""

import abc
import time
from collections.abc import Callable, Generator
from typing import Any

from rich.console import Console, RenderableType
from rich.live import Live

from longpass.cli._stopping import stopping
from longpass.jobs import Job, JobProgress


class Work(abc.ABC):
    """What a live view counts: how much is done, running and left. A view renders itself.

    **Arguments:**

    - `expected`: the core-seconds that a job is expected to take.
    - `total`: those of all jobs to come.
    - `workers`: how many jobs run at a time.
    """

    def __init__(self, expected: Callable[[Job[Any]], float], total: float, workers: int):
        self.errors: list[str] = []
        self.running: dict[Any, JobProgress[Any, Any]] = {}  # by the job's id
        self._began = time.monotonic()
        self._expected, self._total, self._workers = expected, total, workers
        self._over = 0.0  # expected seconds of jobs that are over

    def on_progress(self, progress: JobProgress[Any, Any]) -> None:
        """Take in the progress of a job."""
        if progress.state == "running":
            self.running[progress.job.id] = progress
        else:
            self.running.pop(progress.job.id, None)
            self._over += self._expected(progress.job)

    @property
    def spent(self) -> float:
        """Seconds since the beginning; never 0."""
        return max(time.monotonic() - self._began, 1e-9)

    @property
    def left(self) -> float:
        """About how many seconds are left."""
        running = sum(self._expected(one.job) * one.fraction for one in self.running.values())
        done = self._over + running
        # Expected seconds are of one machine: what has been done shows how fast this one is.
        pace = self.spent / done if done > 30 else 1 / self._workers
        return max(0.0, self._total - done) * pace

    @abc.abstractmethod
    def __rich__(self) -> RenderableType:
        """The view, as it is now."""


def follow(jobs: Generator[JobProgress[Any, Any], Any, Any], view: Work, console: Console) -> bool:
    """Follow jobs until all are over or the user asks to stop: whether they were stopped."""
    live = Live(view, console=console, refresh_per_second=2, transient=True)
    with stopping() as stop:
        if console.is_terminal:
            live.start()
        try:
            for progress in jobs:
                view.on_progress(progress)
                if stop():
                    jobs.close()
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
