"""The seam between what is to be done and where: this machine's processes, or a cluster."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable


class Job(NamedTuple):
    """What one worker does at a time: runs of a sweep to train together, or a round of a member of
    a population."""

    runs: tuple[int, ...]
    """Numbers by which whoever asked knows it again."""
    settings: tuple[Any, ...]
    """What the work is given: values that can be hashed and pickled."""


class Update(NamedTuple):
    """News of a job.

    Running: `share` done and `smoothed` scores. Done: `records`, one for each of its settings.
    Failed: `error`.
    """

    job: Job
    share: float
    smoothed: list[float]
    records: list[dict[str, Any]] | None = None
    error: str | None = None


@runtime_checkable
class Engine(Protocol):
    """Carries out jobs, in any order, each once; yields news of them until all are over.

    When the caller stops listening (or is gone), work stops.
    """

    def carry_out(self, jobs: Sequence[Job]) -> Iterator[Update]: ...
