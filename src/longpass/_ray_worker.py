"""What runs in the processes of a Ray cluster.

It imports nothing of ours: a process loads what its work needs, and no more.
"""

import math
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any


def single_threaded() -> dict[str, str]:
    """Our environment for a process of one core: XLA uses one thread there.

    NPROC is the size of the pool in which XLA runs a program's parts. Without it, and without a
    core of their own, two workers on two cores take one and a half times as long.
    """
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_multi_thread_eigen=false"
    return {"XLA_FLAGS": flags.strip(), "NPROC": "1"}


class Worker:
    """Carries out jobs, one at a time."""

    def __init__(self, environment: dict[str, str], work: Callable[..., Any], between: float):
        # JAX reads this when it is first used. As an environment of Ray's own it would cost every
        # worker three seconds: Ray then starts a process where it has one waiting.
        os.environ.update(environment)
        self._work, self._between = work, between

    def hello(self) -> int:
        """The process, once it is there."""
        return os.getpid()

    def carry_out(self, settings: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        """News of a job, as it comes: the fields of `Update` without the job."""
        news: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()
        last = -math.inf

        def watch(share: float, smoothed: list[float]) -> None:
            nonlocal last
            if time.monotonic() - last >= self._between:
                last = time.monotonic()
                news.put((share, smoothed, None, None))

        def toil() -> None:
            try:
                records = self._work(settings, watch)
            except BaseException as error:
                news.put((0.0, [], None, f"{type(error).__name__}: {error}"))
            else:
                news.put((1.0, [], records, None))

        # Work calls back where a stream of results is asked for: it has a thread of its own.
        threading.Thread(target=toil, daemon=True).start()
        over = False
        while not over:
            told = news.get()
            over = told[2] is not None or told[3] is not None
            yield told
