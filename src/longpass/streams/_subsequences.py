"""The task with two subsequence markers: slow words spelled in the letters of the distractors.

Section 5.1 of the paper.

The paper does not print its ten subsequences; these are ours. A word has four letters, each held
for seven steps. Four words of each marker differ from those of the other in which letters they
have; the fifth words, aacc and ccaa, differ in nothing but their order.
"""

import itertools
from collections.abc import Sequence as Words

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray, UInt8

from longpass.streams._stream import StreamTask, SymbolSequence, draw_distractors, uniform_int

LETTERS = "abcd"
ALPHABET = ("E", "B", *LETTERS)
START, END, DISTRACTOR = 0, 1, 2
HOLD = 7
"""Steps that a letter of a word lasts."""
SPELT = 4 * HOLD  # steps that a word lasts
WORDS = (("aabb", "abab", "abba", "baab", "aacc"), ("ccdd", "cdcd", "cddc", "dccd", "ccaa"))
"""The words of the first and of the second place."""
# Least and most steps of: start marker, distractors, distractors between the words, distractors
# after them, end marker. With two words these make 98 to 133.
PARTS = ((3, 6), (4, 11), (8, 18), (24, 36), (3, 6))
SHORTEST, LONGEST = (sum(part[i] for part in PARTS) + 2 * SPELT for i in (0, 1))


def make_subsequences_task(words: tuple[Words[str], Words[str]] = WORDS) -> StreamTask:
    """The task with five words for marker X and five for marker Y: 4 classes, such as XY."""
    spelt = spell_words(words)  # a NumPy array, so that making a task does not start JAX
    noise = -(-LONGEST // 16)

    def sequence(key: PRNGKeyArray) -> SymbolSequence:
        bits = jax.random.bits(key, (noise + 3 + len(PARTS),), jnp.uint32)
        place = jnp.arange(LONGEST)
        symbols = draw_distractors(bits[:noise], LONGEST, DISTRACTOR)
        label = uniform_int(bits[noise], 4)
        head, before, between, after, tail = (
            least + uniform_int(word, most - least + 1)
            for word, (least, most) in zip(bits[noise + 3 :], PARTS, strict=True)
        )
        first = head + before
        second = first + SPELT + between
        for n, begin in enumerate((first, second)):
            marker = label >> (1 - n) & 1  # the first marker is the label's higher bit
            word = jnp.asarray(spelt)[marker, uniform_int(bits[noise + 1 + n], spelt.shape[1])]
            inside = (place >= begin) & (place < begin + SPELT)
            symbols = jnp.where(inside, word[(place - begin) % SPELT], symbols)
        length = second + SPELT + after + tail
        symbols = jnp.where(place < head, jnp.uint8(START), symbols)
        symbols = jnp.where(place >= length - tail, jnp.uint8(END), symbols)
        return SymbolSequence(symbols, length, label)

    return StreamTask(
        name="subsequences",
        alphabet=ALPHABET,
        classes=("XX", "XY", "YX", "YY"),
        shortest=SHORTEST,
        longest=LONGEST,
        sequence=sequence,
    )


def spell_words(words: tuple[Words[str], Words[str]]) -> UInt8[np.ndarray, "2 words steps"]:
    """The symbols of the words of each marker, step by step."""
    places = [[[LETTERS.index(letter) for letter in word] for word in of_one] for of_one in words]
    return np.repeat(np.array(places, np.uint8) + np.uint8(DISTRACTOR), HOLD, axis=-1)


def draw_words(seed: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Another set of ten words under the same rules as `WORDS`.

    **Arguments:**

    - `seed`: equal seeds draw equal words.

    **Returns:**

    The words of the first and of the second kind.
    """
    rng = np.random.default_rng(seed)
    p, q, r, s = rng.permutation(list(LETTERS))
    spellings = [word for word in itertools.product((0, 1), repeat=4) if len(set(word)) == 2]

    def four(letters: tuple[str, str]) -> list[str]:
        chosen = rng.choice(len(spellings), 4, replace=False)
        return ["".join(letters[place] for place in spellings[one]) for one in chosen]

    return (*four((p, q)), p + p + r + r), (*four((r, s)), r + r + p + p)
