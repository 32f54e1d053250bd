"""The seam between a sweep and what carries it out: this machine's processes, or a cluster."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from longpass.learners import StreamSettings


class Job(NamedTuple):
    """Runs to train together, with their numbers in the sweep."""

    runs: tuple[int, ...]
    settings: tuple[StreamSettings, ...]


class Update(NamedTuple):
    """News of a job.

    Running: `share` done and `smoothed` accuracies. Done: `records`, one a run. Failed: `error`.
    """

    job: Job
    share: float
    smoothed: list[float]
    records: list[dict[str, Any]] | None = None
    error: str | None = None


class Engine(Protocol):
    """Carries out jobs, in any order, each once; yields news of them until all are over.

    When the caller stops listening (or is gone), work stops.
    """

    def carry_out(self, jobs: Sequence[Job]) -> Iterator[Update]: ...
