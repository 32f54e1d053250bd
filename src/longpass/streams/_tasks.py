"""Tasks by name."""

import functools

from longpass.streams._recall import make_previous_task, make_recall_task
from longpass.streams._settings import TaskName, check_span, check_words_seed
from longpass.streams._stream import StreamTask
from longpass.streams._subsequences import WORDS, draw_words, make_subsequences_task
from longpass.streams._temporal_order import make_temporal_order_task


# Cached, so that equal tasks are one object: programs compiled for a task are found again.
@functools.cache
def make_task(name: TaskName, words_seed: int | None = None, span: int | None = None) -> StreamTask:
    """Make a task by its name.

    **Arguments:**

    - `name`: of the task.
    - `words_seed`: draws other words for "subsequences". None: those of `WORDS`.
    - `span`: steps of the shortest sequences. None: 100, and 20 for "recall" and "previous".

    **Returns:**

    The task.
    """
    check_words_seed(name, words_seed)
    check_span(name, span)
    match name:
        case "two-markers":
            return make_temporal_order_task(2, 100 if span is None else span)
        case "three-markers":
            return make_temporal_order_task(3, 100 if span is None else span)
        case "recall":
            return make_recall_task(20 if span is None else span)
        case "previous":
            return make_previous_task(20 if span is None else span)
        case "subsequences":
            return make_subsequences_task(WORDS if words_seed is None else draw_words(words_seed))
