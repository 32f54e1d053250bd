"""Endless streams of symbols: one sequence after another, read in pieces of any length.

Sequence i of a stream is a pure function of the stream's key and i, so a stream is the same
however it is cut into pieces.
"""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PRNGKeyArray, UInt8, UInt32

NO_LABEL = -1
"""The label of a step that has none."""
AnyArray: TypeAlias = Array | np.ndarray
"""An array of JAX or NumPy: learners may use either."""


class SymbolSequence(NamedTuple):
    """One sequence. `symbols` beyond `length` have no meaning."""

    symbols: UInt8[Array, " longest"]
    length: Int[Array, ""]
    label: Int[Array, ""]


class Stream(NamedTuple):
    """A piece of a stream.

    `labels` are classes at the last symbol of a sequence and `NO_LABEL` elsewhere; `starts` are
    true at the first symbol of a sequence.
    """

    symbols: UInt8[AnyArray, " steps"]
    labels: Int[AnyArray, " steps"]
    starts: Bool[AnyArray, " steps"]


class Cursor(NamedTuple):
    """Where a stream is read next: symbol `place` of sequence `number`."""

    key: PRNGKeyArray
    number: Int[AnyArray, ""]
    place: Int[AnyArray, ""]


@dataclasses.dataclass(frozen=True)
class StreamTask:
    """A task: what its sequences look like.

    **Arguments:**

    - `name`: of the task.
    - `alphabet`: the names of the symbols.
    - `classes`: the names of the classes.
    - `shortest`, `longest`: the least and the greatest length of a sequence.
    - `sequence`: draws one sequence from a key.

    >>> from longpass.streams import make_task
    >>> task = make_task("two-markers")
    >>> task.classes, task.mean_length
    (('XX', 'XY', 'YX', 'YY'), 105.0)
    """

    name: str
    alphabet: tuple[str, ...]
    classes: tuple[str, ...]
    shortest: int
    longest: int
    sequence: Callable[[PRNGKeyArray], SymbolSequence]

    @property
    def mean_length(self) -> float:
        """The mean number of symbols between labels."""
        return (self.shortest + self.longest) / 2


def start_stream(task: StreamTask, key: PRNGKeyArray) -> Cursor:
    """Start a stream at a random symbol of its sequence 0, so that streams are not in step.

    Only a part of sequence 0 is read, so it has no label.

    **Arguments:**

    - `task`: of the stream.
    - `key`: equal keys give equal streams.

    **Returns:**

    Where to begin to read.
    """
    stream_key, place_key = jax.random.split(key)
    length = task.sequence(jax.random.fold_in(stream_key, 0)).length
    # Dtypes are given, so that streams are the same in double precision.
    place = jax.random.bits(place_key, (), jnp.uint32) % length.astype(jnp.uint32)
    return Cursor(stream_key, jnp.zeros((), jnp.int32), place.astype(jnp.int32))


def read_stream(task: StreamTask, cursor: Cursor, steps: int) -> tuple[Cursor, Stream]:
    """Read the next symbols of one stream.

    **Arguments:**

    - `task`: of the stream.
    - `cursor`: where to begin, from `start_stream` or the last call.
    - `steps`: how many symbols.

    **Returns:** (where to continue, the piece of the stream).
    """
    # All sequences that may lie in the piece are drawn at once; each step then looks up its own.
    count = 1 + -(-steps // task.shortest)
    numbers = cursor.number + jnp.arange(count, dtype=jnp.int32)
    drawn = jax.vmap(lambda i: task.sequence(jax.random.fold_in(cursor.key, i)))(numbers)
    labels = jnp.where(numbers == 0, NO_LABEL, drawn.label).astype(jnp.int32)
    ends = jnp.cumsum(drawn.length, dtype=jnp.int32) - cursor.place  # step after the last
    begins = ends - drawn.length
    # Which of the drawn sequences a step lies in: as many as have ended by then.
    ended = jnp.zeros(steps + 1, jnp.int32).at[ends].add(1, mode="drop")
    which = jnp.cumsum(ended[:steps], dtype=jnp.int32)
    step = jnp.arange(steps, dtype=jnp.int32)
    place = step - begins[which]
    last = step == ends[which] - 1
    stream = Stream(
        symbols=drawn.symbols.ravel()[which * task.longest + place],
        labels=jnp.where(last, labels[which], NO_LABEL),
        starts=place == 0,
    )
    # A sequence that ends with this piece leaves the cursor at the next one's first symbol.
    done = last[-1].astype(jnp.int32)
    following = jnp.where(last[-1], 0, place[-1] + 1)
    return Cursor(cursor.key, cursor.number + which[-1] + done, following), stream


def uniform_int(word: UInt32[Array, ""], bound: int) -> Int[Array, ""]:
    """A random integer from 0 to `bound` - 1 from 32 random bits.

    Probabilities differ by at most bound / 2^32.
    """
    return (word % jnp.uint32(bound)).astype(jnp.int32)


def draw_distractors(
    words: UInt32[Array, " words"], steps: int, first: int
) -> UInt8[Array, " steps"]:
    """Symbols from `first` to `first` + 3, equally likely: 16 of them from 32 random bits."""
    shifts = 2 * jnp.arange(16, dtype=jnp.uint32)
    pairs = (words[:, None] >> shifts) & jnp.uint32(3)
    return pairs.ravel()[:steps].astype(jnp.uint8) + jnp.uint8(first)
