"""First-order recall: which letter came at one moment, a given delay ago.

As `RepeatFirst` and `RepeatPrevious` of POPGym ask for it. There is one event to remember, and no
order: the tasks for which a chain of filters is not made.
"""

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from longpass.streams._stream import StreamTask, SymbolSequence, draw_distractors, uniform_int

LETTERS = 4
ALPHABET = ("B", *"PQRS", *"abcd")
END, CUE, DISTRACTOR = 0, 1, 5


def make_recall_task(span: int) -> StreamTask:
    """The cue, one of four letters that occur nowhere else, is the first symbol of a sequence.

    **Arguments:**

    - `span`: steps of the shortest sequences; the longest have a tenth more.
    """
    shortest, longest = span, span + span // 10
    noise = -(-longest // 16)

    def sequence(key: PRNGKeyArray) -> SymbolSequence:
        words = jax.random.bits(key, (noise + 2,), jnp.uint32)
        place = jnp.arange(longest)
        symbols = draw_distractors(words[:noise], longest, DISTRACTOR)
        length = shortest + uniform_int(words[noise], longest - shortest + 1)
        label = uniform_int(words[noise + 1], LETTERS)
        symbols = jnp.where(place == 0, (CUE + label).astype(jnp.uint8), symbols)
        symbols = jnp.where(place == length - 1, jnp.uint8(END), symbols)
        return SymbolSequence(symbols, length, label)

    return StreamTask("recall", ALPHABET, tuple("PQRS"), shortest, longest, sequence)


def make_previous_task(span: int) -> StreamTask:
    """The class is the letter `span` - 1 steps before the end; all letters look alike.

    **Arguments:**

    - `span`: the delay plus 1. Sequences have up to a tenth more steps.
    """
    shortest, longest = span, span + span // 10
    noise = -(-longest // 16)

    def sequence(key: PRNGKeyArray) -> SymbolSequence:
        words = jax.random.bits(key, (noise + 1,), jnp.uint32)
        place = jnp.arange(longest)
        symbols = draw_distractors(words[:noise], longest, DISTRACTOR)
        length = shortest + uniform_int(words[noise], longest - shortest + 1)
        label = symbols[length - span].astype(jnp.int32) - DISTRACTOR
        symbols = jnp.where(place == length - 1, jnp.uint8(END), symbols)
        return SymbolSequence(symbols, length, label)

    return StreamTask("previous", ALPHABET, tuple("abcd"), shortest, longest, sequence)
