"""Streams are what the definitions say, and the same however they are cut."""

import functools

import jax
import numpy as np
import pytest
from scipy.stats import chisquare

from longpass import streams
from longpass.streams import _subsequences as words
from longpass.streams import _temporal_order as order

NAMES = ("two-markers", "three-markers", "subsequences")
COUNT = 20_000
# A right generator fails one test in a million; there are some dozens of them, with fixed seeds.
SURE = 1e-6


@functools.cache
def sequences(name):
    """Many sequences of a task: (symbols, lengths, labels)."""
    task = streams.make_task(name)
    keys = jax.random.split(jax.random.key(0), COUNT)
    drawn = jax.jit(jax.vmap(task.sequence))(keys)
    return task, *(np.asarray(leaf) for leaf in drawn)


def even(values, first, last):
    """Whether whole numbers are spread evenly from `first` to `last`."""
    assert values.min() == first
    assert values.max() == last
    counts = np.bincount(values - first, minlength=last - first + 1)
    return chisquare(counts).pvalue > SURE


@pytest.mark.parametrize("name", NAMES)
def test_classes_are_balanced_and_lengths_in_range(name):
    task, _, lengths, labels = sequences(name)
    assert even(labels, 0, len(task.classes) - 1)
    assert lengths.min() >= task.shortest
    assert lengths.max() <= task.longest


@pytest.mark.parametrize("markers", [2, 3])
def test_temporal_order_is_as_defined(markers):
    task, symbols, lengths, labels = sequences(NAMES[markers - 2])
    assert len(task.classes) == 2**markers
    assert even(lengths, 100, 110)
    place = np.arange(task.longest)
    inside = place < lengths[:, None]
    starts, ends = (symbols == task.alphabet.index(mark) for mark in "EB")
    np.testing.assert_array_equal(starts & inside, np.broadcast_to(place == 0, symbols.shape))
    np.testing.assert_array_equal(ends & inside, place == lengths[:, None] - 1)
    marked = np.isin(symbols, [task.alphabet.index(mark) for mark in "XY"]) & inside
    assert (marked.sum(1) == markers).all()
    where = np.nonzero(marked)[1].reshape(COUNT, markers)
    ranges = {2: [(10, 20), (50, 60)], 3: [(10, 20), (33, 43), (66, 76)]}[markers]
    for n, (first, last) in enumerate(ranges):
        assert even(where[:, n], first, last)
    spelt = np.array(task.alphabet)[np.take_along_axis(symbols, where, axis=1)]
    assert ["".join(row) for row in spelt] == [task.classes[label] for label in labels]
    noise = inside & ~starts & ~ends & ~marked
    assert even(symbols[noise].astype(int), order.DISTRACTOR, order.DISTRACTOR + 3)
    # Neighbouring distractors are independent: all 16 pairs are as frequent.
    pairs = noise[:, :-1] & noise[:, 1:]
    code = (symbols[:, :-1][pairs] - 4) * 4 + symbols[:, 1:][pairs] - 4
    assert even(code.astype(int), 0, 15)


def test_subsequences_are_as_defined():
    task, symbols, lengths, labels = sequences("subsequences")
    assert (task.shortest, task.longest) == (98, 133)
    assert lengths.min() <= 103
    assert lengths.max() >= 128
    letters = np.array(task.alphabet)
    heads, tails = set(), set()
    for row, length, label in zip(symbols[:500], lengths, labels, strict=False):
        text = "".join(letters[row[:length]])
        body = text.strip("EB")
        head, tail = text.index(body[0]), len(text) - len(text.rstrip("B"))
        heads.add(head)
        tails.add(tail)
        assert text == "E" * head + body + "B" * tail
        assert set(body) <= set("abcd")
        found = [
            (at, marker)
            for marker, of_one in zip("XY", streams.WORDS, strict=True)
            for word in of_one
            for at in range(len(body))
            if body.startswith("".join(letter * streams.HOLD for letter in word), at)
        ]
        assert "".join(marker for _, marker in sorted(found)) == task.classes[label]
    assert heads == tails == {3, 4, 5, 6}


DRAWN = [streams.draw_words(seed) for seed in range(20)]


@pytest.mark.parametrize("drawn", [streams.WORDS, *DRAWN])
def test_words_follow_their_rules(drawn):
    xs, ys = drawn
    assert len(xs) == len(ys) == 5
    assert len({*xs, *ys}) == 10
    assert all(len(word) == 4 and set(word) <= set("abcd") for word in (*xs, *ys))
    assert sorted(xs[4]) == sorted(ys[4]), "the last pair differs in its order only"
    for x in xs[:4]:
        assert not set(x) & set(ys[0]), "the others differ in their letters"


def test_words_can_be_chosen_by_seed(unchecked_types):
    assert streams.draw_words(1) == streams.draw_words(1)
    assert streams.draw_words(1) != streams.draw_words(2)
    ours, other = streams.make_task("subsequences"), streams.make_task("subsequences", 1)
    assert ours != other
    assert streams.make_task("subsequences", 1) is other
    with pytest.raises(ValueError, match="only the task subsequences has words"):
        streams.make_task("two-markers", 1)
    with pytest.raises(ValueError, match="task is 'four-markers'"):
        streams.make_task("four-markers")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_stream_is_its_sequences_and_the_same_however_it_is_cut(name):
    task = streams.make_task(name)
    steps = 1200
    cursor = begun = jax.jit(functools.partial(streams.start_stream, task))(jax.random.key(3))
    _, whole = jax.jit(lambda c: streams.read_stream(task, c, steps))(begun)
    pieces = []
    for size in (1, 299, 900):
        cursor, piece = jax.jit(functools.partial(streams.read_stream, task, steps=size))(cursor)
        pieces.append(piece)
    joined = jax.tree.map(lambda *leaves: np.concatenate(leaves), *pieces)
    for mine, theirs in zip(joined, whole, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    at, number = -int(begun.place), 0
    sequence = jax.jit(task.sequence)
    while at < steps:
        one = sequence(jax.random.fold_in(begun.key, number))
        length = int(one.length)
        seen = slice(max(at, 0), min(at + length, steps))
        np.testing.assert_array_equal(
            whole.symbols[seen], one.symbols[seen.start - at : seen.stop - at]
        )
        labels = np.full(length, streams.NO_LABEL)
        labels[-1] = one.label if number else streams.NO_LABEL
        np.testing.assert_array_equal(whole.labels[seen], labels[seen.start - at : seen.stop - at])
        starts = np.arange(length) == 0
        np.testing.assert_array_equal(whole.starts[seen], starts[seen.start - at : seen.stop - at])
        at, number = at + length, number + 1


def test_streams_are_out_of_step_and_independent():
    task = streams.make_task("two-markers")
    keys = jax.random.split(jax.random.key(5), 400)
    cursors = jax.jit(jax.vmap(functools.partial(streams.start_stream, task)))(keys)
    places = np.asarray(cursors.place)
    counts = np.bincount(places // 10, minlength=10)[:10]  # the last places are rarer
    assert chisquare(counts).pvalue > SURE
    _, stream = jax.jit(jax.vmap(lambda cursor: streams.read_stream(task, cursor, 2000)))(cursors)
    symbols = np.asarray(stream.symbols)
    # Two streams agree as often as chance has it: distractors are a quarter each.
    agree = (symbols[::2] == symbols[1::2]).mean(1)
    assert abs(agree.mean() - 4 * (98 / 105 / 4) ** 2) < 0.02
    assert agree.max() < 0.32
    labels = np.asarray(stream.labels)
    first = np.array([row[row >= 0][:15] for row in labels])
    joint = first[::2].ravel() * 4 + first[1::2].ravel()
    assert even(joint, 0, 15)
    successive = first[:, :-1].ravel() * 4 + first[:, 1:].ravel()
    assert even(successive, 0, 15)


@pytest.mark.slow
def test_a_stream_does_not_depend_on_precision():
    """The tests run in double precision, users mostly in single."""
    task = streams.make_task("two-markers")
    some = jax.jit(lambda key: streams.read_stream(task, streams.start_stream(task, key), 300)[1])
    with jax.enable_x64(False):
        single = some(jax.random.key(9))
        single = jax.tree.map(np.asarray, single)
    double = some(jax.random.key(9))
    for mine, theirs in zip(single, double, strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_array_equal(mine, theirs)


def test_a_task_says_how_long_it_is():
    assert streams.make_task("two-markers").mean_length == 105
    assert words.SPELT == 28
