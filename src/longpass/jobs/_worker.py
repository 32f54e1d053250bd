"""What runs in worker processes, local ones and those of a Ray cluster.

It imports nothing of ours: a process loads what its work function needs, and no more.
"""

import contextlib
import math
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal, NamedTuple

_MAPS = Path("/proc/self/maps")
_MOST_MAPS = 30_000  # Linux ends a process that needs more than 65,530


class Message(NamedTuple):
    """What a worker sends to the driver.

    **Arguments:**

    - `state`: "ready": the worker has started and waits for its first job. "running", "done",
      "failed": the state of its job. "lost": the process is gone; the transport says so.
    - `fraction`, `scores`, `result`: as in `JobProgress`.
    - `error`: why the job failed or how the process ended.
    """

    state: Literal["ready", "running", "done", "failed", "lost"]
    fraction: float = 0.0
    scores: Sequence[float] = ()
    result: Any = None
    error: str | None = None


def single_threaded_environment() -> dict[str, str]:
    """The environment variables of a process with one core: XLA uses one thread there.

    NPROC is the size of the pool in which XLA runs a program's parts. Without it, and without a
    core of their own, two workers on two cores take one and a half times as long.

    **Returns:**

    The variables by name.
    """
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_multi_thread_eigen=false"
    return {"XLA_FLAGS": flags.strip(), "NPROC": "1"}


def run_job(
    work: Callable[..., object],
    payload: object,
    on_progress: Callable[[float, Sequence[float]], None],
) -> Message:
    """Call the work function: the job's last message."""
    _drop_programs()
    try:
        result = work(payload, on_progress)
    except BaseException as error:
        return Message("failed", error=f"{type(error).__name__}: {error}")
    return Message("done", 1.0, result=result)


def _drop_programs() -> None:
    """Let JAX forget the programs of earlier jobs before they take all memory maps. Each program
    takes hundreds, and where every job has shapes of its own none is used again."""
    jax: Any = sys.modules.get("jax")
    if jax is not None and _MAPS.exists() and _MAPS.read_bytes().count(b"\n") > _MOST_MAPS:
        jax.clear_caches()


def worker_main(
    work: Callable[..., object], pipe: Connection, core: int | None, driver: int
) -> None:
    """Run jobs in a local process until the driver closes the pipe or ends.

    **Arguments:**

    - `work`: the work function.
    - `pipe`: payloads come in, messages go out.
    - `core`: the only core to run on; None: any.
    - `driver`: the driver's process id.
    """
    # The driver handles Ctrl-C: it kills its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # JAX reads these when it is first used, not when it is imported.
    os.environ.update(single_threaded_environment())
    if core is not None:
        os.sched_setaffinity(0, {core})

    def on_progress(fraction: float, scores: Sequence[float]) -> None:
        try:
            if os.getppid() != driver:
                raise ConnectionError
            pipe.send(Message("running", fraction, scores))
        except ConnectionError:  # The driver is gone, and the result would be lost.
            os._exit(1)

    with contextlib.suppress(EOFError, ConnectionError):
        pipe.send(Message("ready"))
        while True:
            pipe.send(run_job(work, pipe.recv(), on_progress))


class RayJobWorker:
    """Runs jobs in a process of a Ray cluster, one at a time.

    **Arguments:**

    - `environment`: environment variables to set. Set by Ray they would cost each worker three
      seconds, since Ray then starts a new process instead of using one that waits.
    - `work`: the work function.
    - `interval`: seconds between two reports of progress, at least.
    """

    def __init__(
        self,
        environment: dict[str, str],
        work: Callable[..., object],
        interval: float,
    ):
        os.environ.update(environment)  # JAX reads it when it is first used.
        self._work, self._interval = work, interval

    def ready(self) -> Message:
        """Report that the process has started."""
        return Message("ready")

    def run(self, payload: object) -> Iterator[Message]:
        """Run a job: messages as they come, the last one with its result or its error."""
        messages: queue.SimpleQueue[Message] = queue.SimpleQueue()
        last = -math.inf

        def on_progress(fraction: float, scores: Sequence[float]) -> None:
            nonlocal last
            if time.monotonic() - last >= self._interval:
                last = time.monotonic()
                messages.put(Message("running", fraction, scores))

        def put_last_message() -> None:
            messages.put(run_job(self._work, payload, on_progress))

        # This method has to yield while the work function runs, so that one has its own thread.
        threading.Thread(target=put_last_message, daemon=True).start()
        while True:
            message = messages.get()
            yield message
            if message.state != "running":
                return
