"""Jobs, their progress, and the protocol of engines."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

EngineName = Literal["local", "ray"]
"""Where jobs run: in processes on this machine, or on a Ray cluster."""
JobState = Literal["running", "done", "failed", "waiting"]
"""What a job is doing."""

Payload = TypeVar("Payload")
Result = TypeVar("Result")
Payload_co = TypeVar("Payload_co", covariant=True)
Result_co = TypeVar("Result_co", covariant=True)

OnProgress: TypeAlias = Callable[[float, Sequence[float]], None]
"""Called by a work function with (fraction done, scores so far)."""
Work: TypeAlias = Callable[[Payload, OnProgress], Result]
"""A work function: what workers do with the payload of a job. They import it by its name."""


@dataclasses.dataclass(frozen=True)
class Job(Generic[Payload_co]):
    """One call of the work function.

    **Arguments:**

    - `id`: chosen by the caller; hashable.
    - `payload`: what the work function is given; it can be pickled.

    >>> Job(id=("two-markers", 0), payload={"seed": 0}).id
    ('two-markers', 0)
    """

    id: Any
    payload: Payload_co


@dataclasses.dataclass(frozen=True)
class JobProgress(Generic[Payload_co, Result_co]):
    """The state of a job.

    **Arguments:**

    - `job`: the job.
    - `state`: "running", "done" or "failed". A job is done or failed once, and then over.
      "waiting" says only that time passes: no job has reported anything for a while.
    - `fraction`: how much of it is done, as the work function reported; 1 once it is done.
    - `scores`: what the work function reported; empty once the job is over.
    - `result`: what the work function returned, if the job is done.
    - `error`: what went wrong, if the job failed.
    """

    job: Job[Payload_co]
    state: JobState
    fraction: float = 0.0
    scores: Sequence[float] = ()
    result: Result_co | None = None
    error: str | None = None


@runtime_checkable
class Engine(Protocol[Payload, Result_co]):
    """Runs one work function on jobs, several at a time."""

    @property
    def workers(self) -> int:
        """How many jobs run at a time."""
        ...

    def run(self, jobs: Sequence[Job[Payload]]) -> Iterator[JobProgress[Payload, Result_co]]:
        """Run every job once.

        Jobs begin in the order given and may end in any order. If the iterator is closed, or the
        driver ends, work stops.

        **Arguments:**

        - `jobs`: what to run.

        **Returns:** progress of jobs as it is reported, until all of them are over. The caller has
        its turn at least twice per second, so that it can stop.
        """
        ...
