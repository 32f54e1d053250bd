"""Two subsequence markers: markers are slow words spelled in the distractors' own letters.

The paper does not print its ten subsequences; these are ours. Each is a word of four letters with
every letter held for three steps. Word i of marker Y has the letters of word i of marker X in
another order, so that counting letters cannot tell the markers apart.
"""

import itertools
from collections.abc import Sequence as Words

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from longpass.tasks._stream import Sequence, Task, below, distractors

LETTERS = "abcd"
ALPHABET = ("E", "B", *LETTERS)
START, END, DISTRACTOR = 0, 1, 2
HOLD = 3  # steps that a letter of a word lasts
SPELT = 4 * HOLD  # steps that a word lasts
WORDS = (("abcd", "acab", "bdca", "cbdc", "dadb"), ("dcba", "baca", "cadb", "dcbc", "bdad"))
# Least and most steps of: start marker, distractors, distractors between the words, distractors
# after them, end marker. With two words these make 98 to 133.
PARTS = ((3, 6), (8, 15), (24, 34), (36, 48), (3, 6))
SHORTEST, LONGEST = (sum(part[i] for part in PARTS) + 2 * SPELT for i in (0, 1))


def subsequences(words: tuple[Words[str], Words[str]] = WORDS) -> Task:
    """The task with five words for marker X and five for marker Y: 4 classes, such as XY."""
    spelt = jnp.array(
        [
            [np.repeat([LETTERS.index(letter) for letter in word], HOLD) for word in of_one]
            for of_one in words
        ],
        jnp.uint8,
    ) + jnp.uint8(DISTRACTOR)  # (marker, word, SPELT)
    noise = -(-LONGEST // 16)

    def sequence(key: PRNGKeyArray) -> Sequence:
        bits = jax.random.bits(key, (noise + 3 + len(PARTS),), jnp.uint32)
        place = jnp.arange(LONGEST)
        symbols = distractors(bits[:noise], LONGEST, DISTRACTOR)
        label = below(bits[noise], 4)
        head, before, between, after, tail = (
            least + below(word, most - least + 1)
            for word, (least, most) in zip(bits[noise + 3 :], PARTS, strict=True)
        )
        first = head + before
        second = first + SPELT + between
        for n, begin in enumerate((first, second)):
            marker = label >> (1 - n) & 1  # the first marker is the label's higher bit
            word = spelt[marker, below(bits[noise + 1 + n], spelt.shape[1])]
            inside = (place >= begin) & (place < begin + SPELT)
            symbols = jnp.where(inside, word[(place - begin) % SPELT], symbols)
        length = second + SPELT + after + tail
        symbols = jnp.where(place < head, jnp.uint8(START), symbols)
        symbols = jnp.where(place >= length - tail, jnp.uint8(END), symbols)
        return Sequence(symbols, length, label)

    return Task(
        name="subsequences",
        alphabet=ALPHABET,
        classes=("XX", "XY", "YX", "YY"),
        shortest=SHORTEST,
        longest=LONGEST,
        symbols=100_000_000,
        sequence=sequence,
    )


def draw_words(seed: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Another set of ten words under the same rules as `WORDS`."""
    spellable = ["".join(word) for word in itertools.product(LETTERS, repeat=4) if _changes(word)]
    rng = np.random.default_rng(seed)
    xs: list[str] = []
    ys: list[str] = []
    for at in rng.permutation(len(spellable)):
        word = spellable[at]
        taken = {*xs, *ys}
        orders = sorted({"".join(order) for order in itertools.permutations(word)})
        twins = [order for order in orders if _changes(order) and order not in {word, *taken}]
        if word not in taken and twins:
            xs.append(word)
            ys.append(twins[rng.integers(len(twins))])
        if len(xs) == 5:
            break
    return tuple(xs), tuple(ys)


def _changes(word: Words[str]) -> bool:
    """Whether every letter differs from the one before it, so that each can be told."""
    return all(a != b for a, b in itertools.pairwise(word))
