"""Time limits: for one call, and for many."""

import contextlib
import signal
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


class TooSlow(BaseException):
    """A call took longer than its limit. Nothing that is tested may catch it."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `TooSlow` in the main thread after `seconds`."""

    def stop(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def take_within(seconds: float, cases: Iterable[T]) -> Iterator[T]:
    """The cases that are begun within `seconds`, and at least one."""
    began = time.monotonic()
    for case in cases:
        yield case
        if time.monotonic() - began > seconds:
            return
