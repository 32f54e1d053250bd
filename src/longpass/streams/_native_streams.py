"""Streams drawn by native code: the same symbols as `read_stream`, to the bit.

`longpass.streams._stream` is the definition. Here the same sequences are drawn from the same keys,
with nothing compiled per shape: JAX's generator Threefry, and both kinds of tasks.
"""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import UInt32

from longpass.streams import _subsequences as subsequences
from longpass.streams import _temporal_order as temporal_order
from longpass.streams._numba import compile_native
from longpass.streams._settings import TaskName
from longpass.streams._stream import NO_LABEL, Cursor, Stream

_MASK = np.uint64(0xFFFFFFFF)
_PARITY = np.uint64(0x1BD11BDA)
_ROTATIONS = np.array([[13, 15, 26, 6], [17, 29, 16, 24]], np.uint64)


class NativeTask(NamedTuple):
    """What the native code has to know of a task."""

    shortest: int
    longest: int
    distractor: int
    """The first of the four distractors."""
    ranges: Any
    """First and last place of each marker, (markers, 2); of size 0 for subsequences."""
    words: Any
    """Symbols of the words of each marker, (2, words, steps); of size 0 for single markers."""
    parts: Any
    """Least and most steps between words, (5, 2)."""


@functools.cache
def make_native_task(name: TaskName, words_seed: int | None) -> NativeTask:
    """As `make_task`."""
    if name == "subsequences":
        words = subsequences.WORDS
        if words_seed is not None:
            words = subsequences.draw_words(words_seed)
        return NativeTask(
            subsequences.SHORTEST,
            subsequences.LONGEST,
            subsequences.DISTRACTOR,
            np.zeros((0, 2), np.int64),
            subsequences.spell_words(words),
            np.array(subsequences.PARTS),
        )
    ranges = temporal_order.RANGES[{"two-markers": 2, "three-markers": 3}[name]]
    return NativeTask(
        temporal_order.SHORTEST,
        temporal_order.LONGEST,
        temporal_order.DISTRACTOR,
        np.array(ranges),
        np.zeros((0, 0, 0), np.uint8),
        np.zeros((0, 2), np.int64),
    )


class NativeSource:
    """Draws the symbols of a group block by block (`SymbolSource`).

    **Arguments:**

    - `task`: of the streams.
    - `steps`: symbols per stream in a block.
    - `cursors`: where the streams are, of shape (group, B).
    """

    def __init__(self, task: NativeTask, steps: int, cursors: Cursor):
        self._task, self._steps = task, steps
        self._keys = cursors.key
        self._words = np.asarray(jax.random.key_data(cursors.key))
        self._numbers, self._places = np.array(cursors.number), np.array(cursors.place)

    @property
    def cursors(self) -> Cursor:
        """Where the streams are after the last block that was taken."""
        return Cursor(self._keys, self._numbers.copy(), self._places.copy())

    def take(self) -> Stream:
        """The next block, of shape (group, steps, B)."""
        group, batch = self._numbers.shape
        shape = (group, self._steps, batch)
        stream = Stream(np.empty(shape, np.uint8), np.empty(shape, np.int32), np.empty(shape, bool))
        for n in range(group):
            _read_streams(
                self._task,
                self._words[n],
                self._numbers[n],
                self._places[n],
                stream.symbols[n],
                stream.labels[n],
                stream.starts[n],
            )
        return stream


def start_native_streams(
    task: NativeTask, batch_size: int, seeds: Sequence[int], purpose: int
) -> Cursor:
    """Cursors (group, B) at the beginning of streams.

    **Arguments:**

    - `task`: of the streams.
    - `batch_size`: streams per run.
    - `seeds`: of the runs.
    - `purpose`: number of this set of streams among those of one seed.
    """
    shape = (len(seeds), batch_size)
    words, places = np.empty((*shape, 2), np.uint32), np.empty(shape, np.int32)
    for n, seed in enumerate(seeds):
        _start_streams(task, seed, purpose, words[n], places[n])
    return Cursor(jax.random.wrap_key_data(jnp.asarray(words)), np.zeros(shape, np.int32), places)


def derive_key(key: tuple[int, int], number: int) -> tuple[int, int]:
    """As `jax.random.fold_in`, and one of the keys of `jax.random.split`."""
    first, second = _hash(*key, number)
    return int(first), int(second)


def draw_words(
    key: tuple[int, int], count: int
) -> tuple[UInt32[np.ndarray, " count"], UInt32[np.ndarray, " count"]]:
    """Two random words per number: `jax.random.bits` is made of them."""
    words = np.empty((2, count), np.uint32)
    _fill_words(*key, words)
    return words[0], words[1]


@compile_native
def _hash(first, second, number):
    """Threefry with 20 rounds: two words from a key of two words and a number below 2^32."""
    first, second = np.uint64(first), np.uint64(second)
    keys = (first, second, first ^ second ^ _PARITY)
    x, y = first, (np.uint64(number) + second) & _MASK
    for turn in range(5):
        for rotation in _ROTATIONS[turn % 2]:
            x = (x + y) & _MASK
            y = ((y << rotation) | (y >> (np.uint64(32) - rotation))) & _MASK
            y ^= x
        x = (x + keys[(turn + 1) % 3]) & _MASK
        y = (y + keys[(turn + 2) % 3] + np.uint64(turn + 1)) & _MASK
    return x, y


@compile_native
def _fill_words(first, second, words):
    for n in range(words.shape[1]):
        words[0, n], words[1, n] = _hash(first, second, n)


@compile_native
def _draw_word(first, second, index):
    """Word `index` of `jax.random.bits(key, (n,), uint32)`."""
    x, y = _hash(first, second, index)
    return x ^ y


@compile_native
def _draw_below(first, second, index, bound):
    """A random integer below `bound` (`uniform_int`)."""
    return int(_draw_word(first, second, index) % np.uint64(bound))


@compile_native
def _draw_sequence(task, first, second, symbols):
    """Draw the sequence of a key into `symbols`. **Returns:** (length, label)."""
    noise = -(-task.longest // 16)
    for n in range(noise):
        word = _draw_word(first, second, n)
        for i in range(16 * n, min(16 * n + 16, task.longest)):
            symbols[i] = task.distractor + np.int64(word & np.uint64(3))
            word >>= np.uint64(2)
    if task.words.size > 0:
        return _place_words(task, first, second, noise, symbols)
    return _place_markers(task, first, second, noise, symbols)


@compile_native
def _place_markers(task, first, second, noise, symbols):
    """The rest of a sequence of `make_temporal_order_task`."""
    markers = task.ranges.shape[0]
    length = task.shortest + _draw_below(first, second, noise, task.longest - task.shortest + 1)
    label = _draw_below(first, second, noise + 1, 2**markers)
    for n in range(markers):
        low, high = task.ranges[n]
        place = low + _draw_below(first, second, noise + 2 + n, high - low + 1)
        symbols[place] = temporal_order.MARKER + (label >> (markers - 1 - n) & 1)
    symbols[0] = temporal_order.START
    symbols[length - 1] = temporal_order.END
    return length, label


@compile_native
def _place_words(task, first, second, noise, symbols):
    """The rest of a sequence of `make_subsequences_task`."""
    label = _draw_below(first, second, noise, 4)
    steps = np.empty(len(task.parts), np.int64)
    for n in range(len(steps)):
        low, high = task.parts[n]
        steps[n] = low + _draw_below(first, second, noise + 3 + n, high - low + 1)
    spelt = task.words.shape[2]
    begin = steps[0] + steps[1]
    for n in range(2):
        which = _draw_below(first, second, noise + 1 + n, task.words.shape[1])
        symbols[begin : begin + spelt] = task.words[label >> (1 - n) & 1, which]
        begin += spelt + steps[2]
    length = begin - steps[2] + steps[3] + steps[4]
    symbols[: steps[0]] = subsequences.START
    symbols[length - steps[4] : length] = subsequences.END
    return length, label


@compile_native
def _read_streams(task, words, numbers, places, symbols, labels, starts):
    """Read the next steps of all streams of a run; numbers and places are moved on."""
    sequence = np.empty(task.longest, np.int64)
    for b in range(len(numbers)):
        step, steps = 0, symbols.shape[0]
        while step < steps:
            first, second = _hash(words[b, 0], words[b, 1], numbers[b])
            length, label = _draw_sequence(task, first, second, sequence)
            place = places[b]
            count = min(length - place, steps - step)
            for i in range(count):
                symbols[step + i, b] = sequence[place + i]
                labels[step + i, b] = NO_LABEL
                starts[step + i, b] = place + i == 0
            step += count
            places[b] = place + count
            if place + count == length:
                # Only a part of sequence 0 is read, so it has no label.
                labels[step - 1, b] = label if numbers[b] > 0 else NO_LABEL
                numbers[b] += 1
                places[b] = 0


@compile_native
def _start_streams(task, seed, purpose, words, places):
    """Keys (B, 2) and first places (B,) of the streams of a run."""
    sequence = np.empty(task.longest, np.int64)
    run = _hash(np.int64(0), seed, np.int64(purpose))
    for b in range(len(places)):
        stream = _hash(run[0], run[1], b)
        key = _hash(stream[0], stream[1], np.int64(0))
        place = _hash(stream[0], stream[1], np.int64(1))
        words[b, 0], words[b, 1] = key[0], key[1]
        zeroth = _hash(key[0], key[1], np.int64(0))
        length, _ = _draw_sequence(task, zeroth[0], zeroth[1], sequence)
        places[b] = np.int64(_draw_word(place[0], place[1], 0) % np.uint64(length))
