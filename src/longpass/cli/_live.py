"""A live view of jobs, on a terminal, until they are over or the user stops them."""

import abc
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType
from rich.live import Live

from longpass.cli._again import same_command
from longpass.cli._minutes import MinuteLines
from longpass.cli._stopping import StopOnSignal
from longpass.jobs import Job, JobProgress

# Expected seconds of finished work from which on this machine's own pace is used.
_ENOUGH_FOR_PACE = 30.0

AnyProgress = JobProgress[Any, Any]
"""The progress of a job of any kind."""


class LiveView(abc.ABC):
    """How much of some jobs is done, running and left. A view renders itself.

    **Arguments:**

    - `expected_seconds`: the core-seconds that a job is expected to take.
    - `total_seconds`: those of all jobs together.
    - `workers`: how many jobs run at a time.
    """

    def __init__(
        self, expected_seconds: Callable[[Job[Any]], float], total_seconds: float, workers: int
    ):
        self.errors: list[str] = []
        self.running: dict[Any, AnyProgress] = {}  # by the job's id
        self._began = time.monotonic()
        self._expected_seconds, self._total_seconds = expected_seconds, total_seconds
        self._workers = workers
        self._finished_seconds = 0.0  # expected seconds of jobs that are over

    def on_progress(self, progress: AnyProgress) -> None:
        """Take in the progress of a job."""
        if progress.state == "waiting":
            return
        if progress.state == "running":
            self.running[progress.job.id] = progress
        else:
            self.running.pop(progress.job.id, None)
            self._finished_seconds += self._expected_seconds(progress.job)

    @property
    def spent(self) -> float:
        """Seconds since the view was made; never 0."""
        return max(time.monotonic() - self._began, 1e-9)

    @property
    def left(self) -> float:
        """About how many seconds are left."""
        running = sum(
            self._expected_seconds(one.job) * one.fraction for one in self.running.values()
        )
        done = self._finished_seconds + running
        # Expected seconds are of another machine: the work that is done shows how fast this one is.
        pace = self.spent / done if done > _ENOUGH_FOR_PACE else 1 / self._workers
        return max(0.0, self._total_seconds - done) * pace

    @abc.abstractmethod
    def describe(self) -> str:
        """How much is done, in a few words."""

    @abc.abstractmethod
    def __rich__(self) -> RenderableType:
        """The view, as it is now."""


def announce(
    console: Console,
    what: str,
    recorded: int,
    seconds: float,
    workers: int,
    out: Path,
    warning: str | None,
) -> None:
    """Say what is about to be trained, and for how long.

    **Arguments:**

    - `console`: where.
    - `what`: all jobs in words, such as "72 runs".
    - `recorded`: how many of them are recorded already.
    - `seconds`: core-seconds that the rest takes; 0 if there is none, and nothing is said of it.
    - `workers`: how many jobs run at a time.
    - `out`: where records go.
    - `warning`: said first, if there is one.
    """
    if warning:
        console.print(f"longpass: {warning}", style="yellow", markup=False, soft_wrap=True)
    if seconds:
        already = f", {recorded} are recorded already" if recorded else ""
        print_estimate(console, f"{what}{already}; ", seconds, workers, str(out))


def print_estimate(console: Console, what: str, seconds: float, workers: int, out: str) -> None:
    """Print how long jobs take, and where their records go.

    **Arguments:**

    - `console`: where.
    - `what`: what the line begins with.
    - `seconds`: core-seconds that the jobs take.
    - `workers`: how many jobs run at a time.
    - `out`: where records go.
    """
    time_left, plural = span(seconds / workers), "s" if workers > 1 else ""
    words = f"{what}about {time_left} on {workers} worker{plural}, into {out}"
    console.print(words, highlight=False, soft_wrap=True)


def conclude(console: Console, view: LiveView, stopped: bool, *flags: str) -> None:
    """Say how it ended: KeyboardInterrupt if the user stopped it, else what failed.

    **Arguments:**

    - `console`: where.
    - `view`: the view of the jobs.
    - `stopped`: what `follow` returned.
    - `flags`: what the command needs beside what it was given, to continue.
    """
    if stopped:
        print_stopped(console, *flags)
        raise KeyboardInterrupt
    for error in view.errors:
        console.print(f"longpass: {error}", style="red", markup=False, soft_wrap=True)


def print_stopped(console: Console, *flags: str) -> None:
    """Say how to continue what was stopped: see `same_command`."""
    console.print(
        f"stopped: {same_command(*flags)} continues", highlight=False, markup=False, soft_wrap=True
    )


def follow(jobs: Generator[AnyProgress, None, None], view: LiveView, console: Console) -> bool:
    """Show the progress of jobs until all are over or the user asks to stop.

    **Arguments:**

    - `jobs`: gives the progress of jobs; closed if the user stops it.
    - `view`: what is shown.
    - `console`: where. If it is not a terminal, a line per minute is printed.

    **Returns:** whether the user stopped it.
    """
    live = Live(view, console=console, refresh_per_second=2, transient=True)
    lines = MinuteLines(console)
    # Progress may be seconds away, and whatever is recorded survives a kill: do not wait for it.
    with StopOnSignal(interrupt=True) as stop:
        if console.is_terminal:
            live.start()
        try:
            for progress in jobs:
                view.on_progress(progress)
                lines.show(lambda: f"{view.describe()}, about {span(view.left)} left")
                if stop():
                    break
        except KeyboardInterrupt:
            pass
        finally:
            jobs.close()
            live.stop()
    return stop()


def span(seconds: float) -> str:
    """A time in words, as coarse as an estimate is."""
    minutes = seconds / 60
    if minutes < 1:
        return f"{seconds:.0f} s"
    if minutes < 120:
        return f"{minutes:.0f} min"
    hours = minutes / 60
    return f"{hours:.1f} h" if hours < 72 else f"{hours / 24:.0f} days"
