"""How a command that was stopped is continued: the words of it that the user types again."""

import shlex
from collections.abc import Sequence

_words: list[str] = []


def remember_words(words: Sequence[str]) -> None:
    """Keep the words after `longpass`, as they were given."""
    _words[:] = words


def same_command(*flags: str) -> str:
    """The command of this process as a line for a shell, with `flags` if it does not have them."""
    return shlex.join(["longpass", *_words, *(flag for flag in flags if flag not in _words)])
