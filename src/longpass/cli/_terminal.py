"""A terminal as a game needs it: keys as they are pressed, and everything put back at the end."""

import contextlib
import os
import select
import signal
import sys
from collections.abc import Iterator

from longpass._signals import stopping_signals

_ESCAPE_WAIT = 0.05  # seconds in which the rest of an arrow key follows, also over a slow line
_ARROWS = {b"A": "up", b"B": "down", b"C": "right", b"D": "left"}
_NAMES = {b" ": "space", b"\x04": "quit", b"q": "quit", b"Q": "quit"}


class Keys:
    """Reads keys from standard input: make it with `keys()`."""

    def __init__(self, descriptor: int):
        self._descriptor = descriptor

    def read(self, timeout: float | None) -> str | None:
        """The next key, by name or as its character; None if none comes in `timeout` seconds."""
        first = self._byte(timeout)
        if first is None:
            return None
        if first == b"\x1b":
            return self._escape()
        return _NAMES.get(first, first.decode("ascii", "ignore"))

    def _escape(self) -> str:
        """What follows an escape: an arrow (ESC [ A or ESC O A), another key, or nothing."""
        opener = self._byte(_ESCAPE_WAIT)
        if opener is None:
            return "quit"
        if opener not in (b"[", b"O"):
            return "other"
        last = self._byte(_ESCAPE_WAIT)
        while last is not None and not 0x40 <= last[0] <= 0x7E:
            last = self._byte(_ESCAPE_WAIT)  # parameters, as in ESC [ 1 ; 2 A
        return _ARROWS.get(last or b"", "other")

    def _byte(self, timeout: float | None) -> bytes | None:
        ready, _, _ = select.select([self._descriptor], [], [], timeout)
        if not ready:
            return None
        byte = os.read(self._descriptor, 1)
        return byte or b"\x04"  # a terminal that has gone away reads as nothing: leave


@contextlib.contextmanager
def keys() -> Iterator[Keys]:
    """Keys without waiting for Enter and without echo, until the end or an error."""
    if not sys.stdin.isatty():
        raise ValueError("play reads keys from a terminal: standard input is not one")
    try:
        import termios
        import tty
    except ImportError:
        raise ValueError("play needs a terminal as Unix has it (on Windows: WSL)") from None
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    # A signal is an exception here, so that the terminal is put back.
    raising = {kind: signal.signal(kind, signal.default_int_handler) for kind in stopping_signals()}
    try:
        tty.setcbreak(descriptor)
        yield Keys(descriptor)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
        for kind, handler in raising.items():
            signal.signal(kind, handler)
