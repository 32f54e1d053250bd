"""The Ray engine: workers of one core each on any node of a cluster.

Workers stay, so that programs compiled for one job serve the next of its shape. The driver uses
no JAX and writes all files: nodes share nothing but the cluster.
"""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from longpass import _checks
from longpass._ray import cluster
from longpass._ray_worker import Worker, single_threaded
from longpass.jobs._engine import Job, Update
from longpass.streams._training import train

_TRIES = 2  # of a job whose worker dies, and of a worker that dies before it has begun
_NEWS = 100  # messages a second that the driver hears at most, of all workers together


@dataclasses.dataclass
class _Hired:
    """A worker, and what it is to tell next: that it is there (no job yet), or news of a job."""

    actor: Any
    told: Any
    job: Job | None = None


class RayEngine:
    """Workers on a Ray cluster, by default one a core of it.

    **Arguments:** `workers` and `work` as in `LocalEngine`; `address`: of the cluster, "auto" for
    the one that runs on this machine; without it, one is started here. It is a context: at its end
    the workers are gone, and the cluster, if it was started here.
    """

    def __init__(
        self,
        workers: int | None = None,
        work: Callable[..., Any] = train,
        address: str | None = None,
    ):
        if workers is not None:
            _checks.positive_int("workers", workers)
        self._ends = contextlib.ExitStack()
        self._ray = self._ends.enter_context(cluster(address, workers))
        self._ends.callback(self._dismiss_all)
        self.workers = workers or int(self._ray.cluster_resources().get("CPU", 1))
        self._type = self._ray.remote(num_cpus=1)(Worker)
        self._work = self._ray.put(work)
        self._crew: list[_Hired] = []

    def __enter__(self) -> "RayEngine":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Dismiss the workers, and end the cluster if it was started for them."""
        self._ends.close()

    def carry_out(self, jobs: Sequence[Job]) -> Iterator[Update]:
        """See `Engine`. A job whose worker dies is tried again once, then it has failed."""
        errors = self._ray.exceptions
        waiting = list(reversed(jobs))
        tries: dict[Job, int] = {}
        left, stillborn = len(waiting), 0
        try:
            while len(self._crew) < min(self.workers, left):
                self._crew.append(self._hire())
            idle = [worker for worker in self._crew if worker.told is None]
            while left:
                while idle and waiting:
                    self._begin(idle.pop(), waiting.pop())
                busy = {worker.told: worker for worker in self._crew if worker.told is not None}
                ready, _ = self._ray.wait(list(busy), num_returns=1)
                worker = busy[ready[0]]
                try:
                    told = self._ray.get(next(worker.told) if worker.job else worker.told)
                except (errors.RayActorError, errors.ObjectLostError) as error:
                    # With its node, what a worker has sent may be lost before it is fetched.
                    job = worker.job
                    self._dismiss(worker)
                    if job is None:
                        stillborn += 1
                        if stillborn == _TRIES * self.workers:
                            raise ConnectionError(f"workers die as they begin: {error}") from None
                    else:
                        tries[job] = tries.get(job, 1) + 1
                        if tries[job] <= _TRIES:
                            waiting.append(job)
                        else:
                            left -= 1
                            yield Update(job, 0.0, [], error=_death(error))
                    if len(self._crew) < min(self.workers, left):
                        self._crew.append(self._hire())
                    continue
                stillborn = 0
                if worker.job is not None:
                    update = Update(worker.job, *told)
                    if update.records is None and update.error is None:
                        yield update
                        continue
                    left -= 1
                    worker.job = worker.told = None
                    idle.append(worker)
                    yield update
                else:
                    worker.told = None
                    idle.append(worker)
        except BaseException:  # GeneratorExit too: nobody listens any more
            self._dismiss_all()
            raise

    def _hire(self) -> _Hired:
        actor = self._type.remote(single_threaded(), self._work, self.workers / _NEWS)
        return _Hired(actor, actor.hello.remote())

    def _begin(self, worker: _Hired, job: Job) -> None:
        worker.job = job
        worker.told = worker.actor.carry_out.options(num_returns="streaming").remote(job.settings)

    def _dismiss(self, worker: _Hired) -> None:
        self._crew.remove(worker)
        self._ray.kill(worker.actor)

    def _dismiss_all(self) -> None:
        for worker in list(self._crew):
            self._dismiss(worker)


def _death(error: Exception) -> str:
    # The last line says how, and then what may have been the cause in general.
    how = str(error).partition(" Some common causes")[0].strip().splitlines()[-1]
    return f"the worker died, {_TRIES} times, last: {how}"
