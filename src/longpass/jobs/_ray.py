"""The Ray engine: workers with one core each on any node of a cluster.

The driver uses no JAX and writes all files: nodes share nothing but the cluster.
"""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any, Generic

from longpass import _checks
from longpass.jobs._cluster import ray_cluster
from longpass.jobs._cores import MOST_WORKERS
from longpass.jobs._job import Job, JobProgress, Payload, Result, Work
from longpass.jobs._scheduler import Scheduler
from longpass.jobs._worker import Message, RayJobWorker, single_threaded_environment

_MESSAGES_PER_SECOND = 100  # that the driver receives at most, from all workers together

RayHandle = Any
"""An actor or a reference of Ray's, which does not type their methods."""


class RayEngine(Generic[Payload, Result]):
    """Runs jobs in workers on a Ray cluster.

    It is a context manager: at its end the workers are stopped, and the cluster, if it was started
    here. Until then workers stay, so that programs compiled for one job serve the next one of its
    shape. A job whose worker dies is begun again once, then it fails.

    **Arguments:**

    - `work`: the work function; every node imports it from its module.
    - `workers`: the number of workers; by default one per CPU of the cluster.
    - `address`: of the cluster, "auto" for the one that runs on this machine; None: start one here.
    """

    def __init__(
        self,
        work: Work[Payload, Result],
        workers: int | None = None,
        address: str | None = None,
    ):
        if workers is not None:
            _checks.int_within("workers", workers, 1, MOST_WORKERS)
        self._resources = contextlib.ExitStack()
        ray = self._resources.enter_context(ray_cluster(address, workers))
        self.workers = workers or int(ray.cluster_resources().get("CPU", 1))
        worker_type, shared_work = ray.remote(num_cpus=1)(RayJobWorker), ray.put(work)
        interval = self.workers / _MESSAGES_PER_SECOND

        def start(index: int) -> RayWorker:
            actor = worker_type.remote(single_threaded_environment(), shared_work, interval)
            return RayWorker(actor, actor.ready.remote())

        def send(actor: RayHandle, payload: object) -> RayHandle:
            return actor.run.options(num_returns="streaming").remote(payload)

        transport = RayTransport(ray, start, send)
        self._scheduler: Scheduler[RayWorker, Payload, Result] = Scheduler(transport, self.workers)
        self._resources.callback(self._scheduler.stop_workers)

    def __enter__(self) -> "RayEngine[Payload, Result]":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the workers, and the cluster if it was started for them."""
        self._resources.close()

    def run(self, jobs: Sequence[Job[Payload]]) -> Iterator[JobProgress[Payload, Result]]:
        """See `Engine.run`."""
        return self._scheduler.run(jobs)


@dataclasses.dataclass(eq=False)
class RayWorker:
    """A Ray actor as the driver sees it.

    **Arguments:**

    - `actor`: Ray's handle.
    - `pending`: Ray's reference to its next `Message`, or a stream of them; None: nothing is to
      come.
    """

    actor: RayHandle
    pending: RayHandle = None


class RayTransport:
    """Starts Ray actors and waits for their messages.

    **Arguments:**

    - `ray`: the module, connected to a cluster.
    - `start_worker`: starts the actor of an index.
    - `send_payload`: gives an actor a payload, and returns the reference to its `Message`, or a
      stream of them.
    """

    def __init__(
        self,
        ray: ModuleType,
        start_worker: Callable[[int], RayWorker],
        send_payload: Callable[[RayHandle, Any], RayHandle],
    ):
        self._ray, self._start_worker, self._send_payload = ray, start_worker, send_payload

    def start(self, index: int) -> RayWorker:
        """See `Transport.start`."""
        return self._start_worker(index)

    def send(self, worker: RayWorker, payload: object) -> None:
        """See `Transport.send`."""
        worker.pending = self._send_payload(worker.actor, payload)

    def wait(
        self, workers: Sequence[RayWorker], timeout: float | None
    ) -> tuple[RayWorker, Message] | None:
        """See `Transport.wait`."""
        errors = self._ray.exceptions
        pending = {worker.pending: worker for worker in workers}
        ready, _ = self._ray.wait(list(pending), num_returns=1, timeout=timeout)
        if not ready:
            return None
        (reference,) = ready
        worker = pending[reference]
        try:
            if isinstance(reference, self._ray.ObjectRefGenerator):
                reference = next(reference)
            return worker, self._ray.get(reference)
        except (errors.RayActorError, errors.ObjectLostError) as error:
            # A message may be lost with the node that holds it, before it is fetched.
            return worker, Message("lost", error=f"the error {_last_line(error)!r}")

    def stop(self, worker: RayWorker) -> None:
        """See `Transport.stop`."""
        self._ray.kill(worker.actor)


def _last_line(error: Exception) -> str:
    """The line of Ray's message that says what happened."""
    return str(error).partition(" Some common causes")[0].strip().splitlines()[-1]
