"""Stopping on a signal, at a moment at which a run can be saved."""

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from longpass._signals import stopping_signals, write_message


class StopOnSignal:
    """A context in which Ctrl-C, SIGTERM and SIGHUP ask to stop; a second signal leaves at once.

    Entering it returns a function that says whether a signal has come. It prints a message at once.

    **Arguments:**

    - `interrupt`: also raise KeyboardInterrupt, wherever this process is: for commands that wait
      for others, and that leave nothing half done wherever they are killed.
    """

    def __init__(self, *, interrupt: bool = False):
        self._interrupt = interrupt

    def __enter__(self) -> Callable[[], bool]:
        self._asked = False
        self._before: dict[int, Any] = {}
        self._terminals = [stream for stream in (1, 2) if os.isatty(stream)]
        if threading.current_thread() is threading.main_thread():
            for kind in stopping_signals():
                self._before[kind] = signal.signal(kind, self._ask)
        return lambda: self._asked

    def _ask(self, number: int, frame: FrameType | None) -> None:
        _forget_closed(self._terminals)
        if self._asked:
            before = self._before[number]
            if callable(before):
                before(number, frame)
            raise KeyboardInterrupt
        self._asked = True
        write_message("stopping; once more leaves at once")
        if self._interrupt:
            raise KeyboardInterrupt

    def __exit__(self, *_: object) -> None:
        for kind, handler in self._before.items():
            signal.signal(kind, handler)


def _forget_closed(terminals: list[int]) -> None:
    """Let streams write to nothing if their terminal was closed: an error there would keep the run
    from being saved."""
    for stream in terminals:
        if not os.isatty(stream):
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, stream)
            os.close(nothing)
