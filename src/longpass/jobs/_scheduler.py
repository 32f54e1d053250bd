"""The scheduler: starts workers, sends them jobs, and replaces workers that are lost.

It knows nothing of processes or of Ray: a transport reaches the workers.
"""

import collections
import dataclasses
from collections.abc import Generator, Sequence
from typing import Generic, NoReturn, Protocol, TypeVar, runtime_checkable

from longpass.jobs._job import Job, JobProgress, Payload, Result
from longpass.jobs._worker import Message

_TURN = 0.5  # seconds after which whoever follows jobs has a turn

Worker = TypeVar("Worker")


@runtime_checkable
class Transport(Protocol[Worker]):
    """How a scheduler reaches workers. A `Worker` is hashable and stands for one of them."""

    def start(self, index: int) -> Worker:
        """Start a worker.

        **Arguments:**

        - `index`: from 0 to the number of workers; no two that live have the same.
        """
        ...

    def send(self, worker: Worker, payload: object) -> None:
        """Send a job's payload to a worker. If the worker is lost, `wait` reports it."""
        ...

    def wait(
        self, workers: Sequence[Worker], timeout: float | None
    ) -> tuple[Worker, Message] | None:
        """Wait for the next message.

        **Arguments:**

        - `workers`: those that have something to send; of several messages, that of the first
          worker in this order is taken.
        - `timeout`: seconds; None: wait without end.

        **Returns:** a worker and its message, "lost" if it is gone; None after `timeout`.
        """
        ...

    def stop(self, worker: Worker) -> None:
        """End a worker, whatever it does. It may be lost already."""
        ...


class FailedStartsError(ConnectionError):
    """Workers were lost, one after the other, before they sent anything.

    **Arguments:**

    - `count`: how many.
    - `reason`: how the last one ended.
    """

    def __init__(self, count: int, reason: str):
        super().__init__(f"{count} workers failed to start, the last one with {reason}")
        self.count, self.reason = count, reason


@dataclasses.dataclass
class _Attempt(Generic[Payload]):
    """A job, and how many workers were lost with it."""

    job: Job[Payload]
    lost_workers: int = 0


@dataclasses.dataclass
class _WorkerState(Generic[Payload]):
    index: int
    ready: bool
    """Whether it may be sent a job."""
    has_sent: bool = False
    """Whether any message has come from it."""
    attempt: _Attempt[Payload] | None = None


class Scheduler(Generic[Worker, Payload, Result]):
    """Runs jobs on workers that stay, one job per worker at a time.

    **Arguments:**

    - `transport`: reaches the workers.
    - `workers`: how many there are at most; no more are started than there are jobs.
    - `tries`: how often a job is begun before it fails, if its worker is lost each time; None:
      until it is done.
    - `start_tries`: after this many failed starts in a row, per worker, `FailedStartsError` is
      raised. A start failed if the worker is lost before its first message.
    - `await_ready`: whether a worker's first message is "ready" and jobs are sent only after it.
    - `timeout`: seconds without a message after which `TimeoutError` is raised; None: never.
    """

    def __init__(
        self,
        transport: Transport[Worker],
        workers: int,
        *,
        tries: int | None = 2,
        start_tries: int = 2,
        await_ready: bool = True,
        timeout: float | None = None,
    ):
        self._transport, self._max_workers = transport, workers
        self._tries, self._max_failed_starts = tries, start_tries * workers
        self._await_ready, self._timeout = await_ready, timeout
        # In the order of their last messages, so that every worker's turn comes.
        self._workers: dict[Worker, _WorkerState[Payload]] = {}
        self._queue: collections.deque[_Attempt[Payload]] = collections.deque()
        self._failed_starts = 0
        self.lost_workers = 0
        """How many workers were lost so far."""

    @property
    def unfinished(self) -> int:
        """How many jobs are queued or running."""
        running = sum(state.attempt is not None for state in self._workers.values())
        return len(self._queue) + running

    def run(
        self, jobs: Sequence[Job[Payload]]
    ) -> Generator[JobProgress[Payload, Result], None, None]:
        """Run jobs as `Engine.run` does. Workers stay, unless the iterator is closed early."""
        try:
            self.add(*jobs)
            silent = 0.0  # seconds
            while self.unfinished:
                progress = self._wait_for_progress(_TURN)
                silent = 0.0 if progress else silent + _TURN
                if self._timeout is not None and silent >= self._timeout:
                    self._raise_timeout()
                yield progress or JobProgress(self._unfinished_job(), "waiting")
        except BaseException:  # GeneratorExit and KeyboardInterrupt too.
            self.stop_workers()
            raise

    def add(self, *jobs: Job[Payload]) -> None:
        """Queue jobs; those for which there is a worker begin at once."""
        self._queue.extend(_Attempt(job) for job in jobs)
        self._dispatch()

    def next_progress(self) -> JobProgress[Payload, Result]:
        """Wait for progress of any job. A worker that becomes free is sent its next job first."""
        progress = self._wait_for_progress(self._timeout)
        if progress is None:
            self._raise_timeout()
        return progress

    def _raise_timeout(self) -> NoReturn:
        raise TimeoutError(f"no worker has sent a message for {self._timeout:.0f} s")

    def _wait_for_progress(self, timeout: float | None) -> JobProgress[Payload, Result] | None:
        """Progress of any job; None after `timeout` seconds without a message."""
        while True:
            busy = [
                worker
                for worker, state in self._workers.items()
                if state.attempt is not None or not state.ready
            ]
            event = self._transport.wait(busy, timeout)
            if event is None:
                return None
            progress = self._handle_message(*event)
            self._dispatch()
            if progress is not None:
                return progress

    def _unfinished_job(self) -> Job[Payload]:
        """A job that is running, or else one that is queued."""
        running = [state.attempt for state in self._workers.values() if state.attempt is not None]
        return [*running, *self._queue][0].job

    def stop_workers(self) -> None:
        """End all workers and forget all jobs."""
        self._queue.clear()
        while self._workers:
            worker, _ = self._workers.popitem()
            self._transport.stop(worker)

    def _dispatch(self) -> None:
        """Start the workers that are missing, and send jobs to those that are free."""
        for _ in range(min(self._max_workers, self.unfinished) - len(self._workers)):
            used = {state.index for state in self._workers.values()}
            index = next(index for index in range(self._max_workers) if index not in used)
            worker = self._transport.start(index)
            self._workers[worker] = _WorkerState(index, ready=not self._await_ready)
        for worker, state in self._workers.items():
            if not self._queue:
                break
            if state.ready and state.attempt is None:
                state.attempt = self._queue.popleft()
                self._transport.send(worker, state.attempt.job.payload)

    def _handle_message(
        self, worker: Worker, message: Message
    ) -> JobProgress[Payload, Result] | None:
        """Take a message in: progress of a job, if it has any."""
        state = self._workers.pop(worker)
        if message.state == "lost":
            self._transport.stop(worker)
            return self._handle_loss(state, message.error or "no message")
        self._workers[worker] = state
        state.has_sent = True
        self._failed_starts = 0
        if message.state == "ready":
            state.ready = True
            return None
        assert state.attempt is not None
        job = state.attempt.job
        if message.state != "running":
            state.attempt = None
        return JobProgress(
            job,
            message.state,
            fraction=message.fraction,
            scores=message.scores,
            result=message.result,
            error=message.error,
        )

    def _handle_loss(
        self, state: _WorkerState[Payload], reason: str
    ) -> JobProgress[Payload, Result] | None:
        """Queue the job of a lost worker again, as the next one, or let it fail."""
        self.lost_workers += 1
        if not state.has_sent:
            self._failed_starts += 1
            if self._failed_starts == self._max_failed_starts:
                raise FailedStartsError(self._failed_starts, reason)
        attempt = state.attempt
        if attempt is None:
            return None
        attempt.lost_workers += 1
        if self._tries is None or attempt.lost_workers < self._tries:
            self._queue.appendleft(attempt)
            return None
        times = {1: "once", 2: "twice"}.get(self._tries, f"{self._tries} times")
        error = f"the worker process died {times}, last with {reason}"
        return JobProgress(attempt.job, "failed", error=error)
