"""Leaving on a signal: Ctrl-C, SIGTERM, and SIGHUP, which comes when a terminal is closed."""

import contextlib
import os
import signal
import sys
from types import FrameType
from typing import Any, TextIO

STOPPED = 130
"""The exit status of a command that was stopped."""
_SHOW_CURSOR = b"\x1b[?25h"


def stopping_signals() -> list[signal.Signals]:
    """The signals that stop a command: not SIGHUP where nohup has it ignored."""
    kinds = [signal.SIGINT, signal.SIGTERM]
    # Windows has no SIGHUP.
    hang_up = getattr(signal, "SIGHUP", None)
    if hang_up is not None and signal.getsignal(hang_up) is not signal.SIG_IGN:
        kinds.append(hang_up)
    return kinds


def leave_on_signals() -> None:
    """From now on these signals end this process at once, with exit status 130.

    No exception is raised: JAX may crash or hang where one passes through it, and while Python
    shuts down after it. Use it while there is nothing to save.
    """
    for kind in stopping_signals():
        signal.signal(kind, leave)


def ignore_interrupts() -> None:
    """From now on Ctrl-C does nothing: the work is done, and while Python shuts down it would end
    this process as if it were not."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class _TerminalStream:
    """A stream to a terminal. Once that is closed, what is written goes nowhere: an error would
    come before the signal is handled, and would keep a run from being saved."""

    def __init__(self, stream: TextIO):
        self._stream = stream

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def survive_closed_terminal() -> None:
    """From now on writing to a terminal that was closed is no error."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and stream.isatty():
            setattr(sys, name, _TerminalStream(stream))


def leave(number: int = signal.SIGINT, frame: FrameType | None = None) -> None:
    """End this process at once, with exit status 130."""
    write_message("stopped")
    for stream in (sys.stdout, sys.stderr):
        # The signal may have come in the middle of a write, which cannot be entered twice.
        with contextlib.suppress(RuntimeError, OSError, ValueError):
            stream.flush()
    if os.isatty(1):
        os.write(1, _SHOW_CURSOR)
    os._exit(STOPPED)


def write_message(text: str) -> None:
    """Write a line to standard error, whatever was being written when the signal came."""
    with contextlib.suppress(OSError):
        os.write(2, f"\nlongpass: {text}\n".encode())
