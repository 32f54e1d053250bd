"""The local engine: one single-threaded process a core, each training one group at a time.

Measured on two cores, that is faster than one process with two threads. Processes stay, so that
programs compiled for one run serve the next of its shape.
"""

import contextlib
import dataclasses
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from longpass import _checks
from longpass._ray_worker import single_threaded
from longpass.jobs._engine import Job, Update
from longpass.streams._training import train

_TRIES = 2  # of a job whose process dies


@dataclasses.dataclass
class _Worker:
    process: Any
    pipe: Connection
    job: Job
    core: int | None


class LocalEngine:
    """Processes on this machine, by default one a core.

    `work` is what they do with a job's settings: any function that takes and gives what
    `train` does, of a module that they can import.
    """

    def __init__(self, workers: int | None = None, work: Callable[..., Any] = train):
        self._work = work
        self.workers = len(_cores()) if workers is None else workers
        _checks.positive_int("workers", self.workers)

    def _core(self, number: int) -> int | None:
        """The core of a worker, if it is to have one of its own: only where all are ours."""
        cores = _cores()
        pinned = hasattr(os, "sched_setaffinity") and self.workers == len(cores)
        return cores[number] if pinned else None

    def carry_out(self, jobs: Sequence[Job]) -> Iterator[Update]:
        """See `Engine`. A job whose process dies is tried again once, then it has failed."""
        waiting = list(reversed(jobs))
        tries: dict[Job, int] = {}
        crew: list[_Worker] = []
        try:
            while waiting and len(crew) < self.workers:
                crew.append(_hire(self._work, self._core(len(crew)), waiting.pop()))
            while crew:
                ready = wait([worker.pipe for worker in crew])
                for worker in [worker for worker in crew if worker.pipe in ready]:
                    update = _hear(worker)
                    dead = update is None
                    if update is None:
                        tries[worker.job] = tries.get(worker.job, 1) + 1
                        if tries[worker.job] <= _TRIES:
                            waiting.append(worker.job)
                        else:
                            update = Update(worker.job, 0.0, [], error=_death(worker))
                    if update is not None:
                        yield update
                        if update.records is None and update.error is None:
                            continue
                    place = crew.index(worker)
                    if not waiting:
                        _dismiss(crew.pop(place))
                    elif dead:
                        _dismiss(worker)
                        crew[place] = _hire(self._work, worker.core, waiting.pop())
                    else:
                        worker.job = waiting.pop()
                        worker.pipe.send(worker.job)
        finally:
            for worker in crew:
                worker.process.kill()
                _dismiss(worker)


def _hire(work: Callable[..., Any], core: int | None, job: Job) -> _Worker:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    life = (work, theirs, core, os.getpid())
    process = context.Process(target=_live, args=life, daemon=True)
    process.start()
    theirs.close()
    ours.send(job)
    return _Worker(process, ours, job, core)


def _hear(worker: _Worker) -> Update | None:
    """The next news of a worker, None if it is dead."""
    try:
        return Update(worker.job, **worker.pipe.recv())
    except (EOFError, ConnectionError):
        return None


def _death(worker: _Worker) -> str:
    worker.process.join()
    return f"the process died, {_TRIES} times, last with exit code {worker.process.exitcode}"


def _dismiss(worker: _Worker) -> None:
    worker.pipe.close()  # an idle worker ends when its pipe does
    worker.process.join()


def _live(work: Callable[..., Any], pipe: Connection, core: int | None, driver: int) -> None:
    """A worker's life: jobs in, news out, until the driver is gone."""
    # Ctrl-C is the driver's business: it closes the pipe or kills.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # JAX reads these when it is first used, not when it is imported.
    os.environ.update(single_threaded())
    if core is not None:
        os.sched_setaffinity(0, {core})

    def watch(share: float, smoothed: list[float]) -> None:
        if os.getppid() != driver:
            os._exit(1)
        pipe.send({"share": share, "smoothed": smoothed})

    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            job: Job = pipe.recv()
            # News go without the job, which the driver has: one of a population is megabytes.
            try:
                records = work(job.settings, watch)
            except (ConnectionError, KeyboardInterrupt):
                raise
            except Exception as error:
                what = f"{type(error).__name__}: {error}"
                pipe.send({"share": 0.0, "smoothed": [], "error": what})
            else:
                pipe.send({"share": 1.0, "smoothed": [], "records": records})


def _cores() -> list[int]:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))
