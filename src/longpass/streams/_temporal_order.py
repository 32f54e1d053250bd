"""Temporal order: which markers came, in which order, among a hundred distractors.

Section 5.1 of the paper, after Hochreiter and Schmidhuber (1997).

Tasks 6a and 6b of Hochreiter and Schmidhuber (1997). Where the source does not say, ranges are
inclusive and places count from 0, where the start symbol is.
"""

import itertools

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from longpass.streams._stream import StreamTask, SymbolSequence, draw_distractors, uniform_int

ALPHABET = ("E", "B", "X", "Y", "a", "b", "c", "d")
START, END, MARKER, DISTRACTOR = 0, 1, 2, 4  # X is MARKER, Y the next; a to d from DISTRACTOR on
SHORTEST, LONGEST = 100, 110
# First and last place that each marker may have.
RANGES = {2: ((10, 20), (50, 60)), 3: ((10, 20), (33, 43), (66, 76))}


def make_temporal_order_task(markers: int, span: int = SHORTEST) -> StreamTask:
    """The task with two or three markers: 4 or 8 classes, such as XY.

    **Arguments:**

    - `markers`: 2 or 3.
    - `span`: steps of the shortest sequences, at least 10. Places of markers scale with it.
    """
    ranges = [tuple(place * span // SHORTEST for place in pair) for pair in RANGES[markers]]
    shortest, longest = span, span * LONGEST // SHORTEST
    noise = -(-longest // 16)  # words of 16 distractors each

    def sequence(key: PRNGKeyArray) -> SymbolSequence:
        words = jax.random.bits(key, (noise + 2 + markers,), jnp.uint32)
        place = jnp.arange(longest)
        symbols = draw_distractors(words[:noise], longest, DISTRACTOR)
        length = shortest + uniform_int(words[noise], longest - shortest + 1)
        label = uniform_int(words[noise + 1], 2**markers)
        for n, (first, last) in enumerate(ranges):
            # The first marker is the label's highest bit: 01 is XY.
            marker = MARKER + (label >> (markers - 1 - n) & 1)
            at = first + uniform_int(words[noise + 2 + n], last - first + 1)
            symbols = jnp.where(place == at, marker.astype(jnp.uint8), symbols)
        symbols = jnp.where(place == 0, jnp.uint8(START), symbols)
        symbols = jnp.where(place == length - 1, jnp.uint8(END), symbols)
        return SymbolSequence(symbols, length, label)

    return StreamTask(
        name={2: "two-markers", 3: "three-markers"}[markers],
        alphabet=ALPHABET,
        classes=tuple("".join(word) for word in itertools.product("XY", repeat=markers)),
        shortest=shortest,
        longest=longest,
        sequence=sequence,
    )
