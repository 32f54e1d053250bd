"""Tasks by name."""

import functools
from typing import get_args

from longpass import _checks
from longpass._names import TaskName
from longpass.streams._stream import Task
from longpass.streams._subsequences import WORDS, draw_words, subsequences
from longpass.streams._temporal_order import temporal_order


# One task, one object: programs that were compiled for it are found again.
@functools.cache
def make(name: TaskName, words_seed: int | None = None) -> Task:
    """The task `name`; `words_seed` draws other words for `subsequences` than `WORDS`."""
    _checks.one_of("task", name, get_args(TaskName))
    if words_seed is not None:
        if name != "subsequences":
            raise ValueError(
                f"words_seed is {words_seed}: only the task subsequences has words, not {name}"
            )
        _checks.int_within("words_seed", words_seed, 0, None)
    match name:
        case "two-markers":
            return temporal_order(2)
        case "three-markers":
            return temporal_order(3)
        case "subsequences":
            return subsequences(WORDS if words_seed is None else draw_words(words_seed))
