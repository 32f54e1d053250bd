"""The local engine: one single-threaded process per core.

Measured on two cores, that is faster than one process with two threads.
"""

import contextlib
import dataclasses
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Generic

from longpass import _checks
from longpass.jobs._cores import MOST_WORKERS, available_cores
from longpass.jobs._job import Job, JobProgress, Payload, Result, Work
from longpass.jobs._scheduler import Scheduler
from longpass.jobs._worker import Message, worker_main


class LocalEngine(Generic[Payload, Result]):
    """Runs jobs in processes on this machine.

    Processes stay until `run` ends, so that programs compiled for one job serve the next one of
    its shape. A job whose process dies is begun again once, then it fails.

    **Arguments:**

    - `work`: the work function; the processes import it from its module.
    - `workers`: the number of processes; by default one per core.

    >>> from longpass.streams import train_group
    >>> LocalEngine(train_group, workers=2).workers
    2
    """

    def __init__(self, work: Work[Payload, Result], workers: int | None = None):
        cores = available_cores()
        if workers is not None:
            _checks.int_within("workers", workers, 1, MOST_WORKERS)
        self.workers = workers or len(cores)
        # A process has a core of its own only if all cores are in use.
        pinned = hasattr(os, "sched_setaffinity") and self.workers == len(cores)
        transport = _ProcessTransport(work, cores if pinned else None)
        self._scheduler: Scheduler[_Process, Payload, Result] = Scheduler(transport, self.workers)

    def run(self, jobs: Sequence[Job[Payload]]) -> Iterator[JobProgress[Payload, Result]]:
        """See `Engine.run`."""
        try:
            yield from self._scheduler.run(jobs)
        finally:
            self._scheduler.stop_workers()


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Start processes that never see a Ctrl-C, not even while they start: the driver handles it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@dataclasses.dataclass(eq=False)
class _Process:
    process: SpawnProcess
    pipe: Connection


class _ProcessTransport:
    """Starts processes and talks to them through pipes.

    **Arguments:**

    - `work`: the work function.
    - `cores`: the core of each worker; None: any.
    """

    def __init__(self, work: Callable[..., object], cores: Sequence[int] | None):
        self._work, self._cores = work, cores

    def start(self, index: int) -> _Process:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        core = None if self._cores is None else self._cores[index]
        arguments = (self._work, theirs, core, os.getpid())
        process = context.Process(target=worker_main, args=arguments, daemon=True)
        with _interrupts_blocked():
            process.start()
        theirs.close()
        return _Process(process, ours)

    def send(self, worker: _Process, payload: object) -> None:
        with contextlib.suppress(ConnectionError):
            worker.pipe.send(payload)

    def wait(
        self, workers: Sequence[_Process], timeout: float | None
    ) -> tuple[_Process, Message] | None:
        ready = wait([worker.pipe for worker in workers], timeout)
        if not ready:
            return None
        worker = next(worker for worker in workers if worker.pipe in ready)
        try:
            return worker, worker.pipe.recv()
        except (EOFError, OSError):  # OSError: it died in the middle of a message.
            worker.process.join()
            return worker, Message("lost", error=f"exit code {worker.process.exitcode}")

    def stop(self, worker: _Process) -> None:
        worker.process.kill()
        worker.process.join()
        worker.pipe.close()
