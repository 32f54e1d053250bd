"""A time limit for one call."""

import contextlib
import signal
from collections.abc import Iterator


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
