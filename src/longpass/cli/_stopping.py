"""Stopping on a signal, at a moment at which a run can be saved."""

import signal
import threading
from collections.abc import Callable


class StopOnSignal:
    """A context in which Ctrl-C and SIGTERM ask to stop; a second signal stops at once.

    Entering it returns a function that says whether a signal has come.
    """

    def __enter__(self) -> Callable[[], bool]:
        self._asked = False
        self._before = {}
        if threading.current_thread() is threading.main_thread():
            for kind in (signal.SIGINT, signal.SIGTERM):
                self._before[kind] = signal.signal(kind, self._ask)
        return lambda: self._asked

    def _ask(self, *_: object) -> None:
        if self._asked:
            raise KeyboardInterrupt
        self._asked = True

    def __exit__(self, *_: object) -> None:
        for kind, handler in self._before.items():
            signal.signal(kind, handler)
