"""Progress where no live view can be shown: one line per minute."""

import time
from collections.abc import Callable

from rich.console import Console

MINUTE = 60.0


class MinuteLines:
    """Prints a line per minute on a console that is not a terminal, and nothing on a terminal.

    **Arguments:**

    - `console`: where.
    """

    def __init__(self, console: Console):
        self._console = console
        self._last = time.monotonic()

    def show(self, describe: Callable[[], str]) -> None:
        """Print what `describe` returns, if a minute has passed since the last line."""
        now = time.monotonic()
        if not self._console.is_terminal and now - self._last >= MINUTE:
            self._last = now
            self._console.print(describe(), highlight=False, markup=False, soft_wrap=True)
