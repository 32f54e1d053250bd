"""Tasks by name."""

import functools

from longpass.streams._settings import TaskName, check_words_seed
from longpass.streams._stream import StreamTask
from longpass.streams._subsequences import WORDS, draw_words, make_subsequences_task
from longpass.streams._temporal_order import make_temporal_order_task


# Cached, so that equal tasks are one object: programs compiled for a task are found again.
@functools.cache
def make_task(name: TaskName, words_seed: int | None = None) -> StreamTask:
    """Make a task by its name.

    **Arguments:**

    - `name`: "two-markers", "three-markers" or "subsequences".
    - `words_seed`: draws other words for "subsequences". None: those of `WORDS`.
    """
    check_words_seed(name, words_seed)
    match name:
        case "two-markers":
            return make_temporal_order_task(2)
        case "three-markers":
            return make_temporal_order_task(3)
        case "subsequences":
            return make_subsequences_task(WORDS if words_seed is None else draw_words(words_seed))
