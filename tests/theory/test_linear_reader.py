"""Reading classes from pools: contents against plain filtering, accuracies in closed form."""

import itertools

import numpy as np
import pytest
from scipy.stats import norm

from longpass import theory
from longpass.memory import rates
from tests.helpers import wrong

both = pytest.mark.parametrize("wiring", ["chain", "parallel"])


def draw_padded(streams: int, sequences: int, shortest: int, longest: int) -> np.ndarray:
    """Random sequences of random lengths, of symbols 0 to 2."""
    generator = np.random.default_rng(0)
    symbols = generator.integers(0, 3, (streams, sequences, longest))
    lengths = generator.integers(shortest, longest + 1, (streams, sequences, 1))
    return np.where(np.arange(longest) >= longest - lengths, symbols, -1)


def draw_marked(samples: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Sequences with a marker, symbol 1, in the older or in the newer half of symbols 0."""
    generator = np.random.default_rng(1)
    labels = generator.integers(0, 2, samples)
    place = generator.integers(0, length // 2, samples) + labels * (length // 2)
    return (np.arange(length) == place[:, None]).astype(int)[:, None], labels


@both
def test_contents_are_those_of_the_whole_stream(wiring):
    symbols = draw_padded(4, 5, 2, 9)
    a, start = (0.5, 0.2, 0.3), np.array([0.1, 0.0, 0.7])
    contents = theory.fill_pools(symbols, a, wiring=wiring, num_symbols=4, start=np.r_[start, 0.0])
    for stream, held in zip(symbols, contents, strict=True):
        steps = stream[stream >= 0]
        ends = np.cumsum((stream >= 0).sum(axis=-1))
        response = theory.impulse_response(a, len(steps), wiring)
        A, _ = theory.transition(a, wiring)
        for end, pools in zip(ends, held, strict=True):
            past = np.eye(4)[steps[:end][::-1]]
            before = np.linalg.matrix_power(A, end) @ np.tile(np.r_[start, 0.0], (3, 1))
            np.testing.assert_allclose(pools, response[:, :end] @ past + before, atol=1e-14)


@both
def test_pools_that_start_at_the_mean_stay_there(wiring):
    """Of two symbols in turn, slow pools hold one half each."""
    symbols = np.tile([0, 1], (1, 6, 10))
    contents = theory.fill_pools(symbols, (1e-6, 1e-7), wiring=wiring, start=np.array([0.5, 0.5]))
    np.testing.assert_allclose(contents, 0.5, atol=1e-5)


def test_a_chain_of_one_pool_is_a_bank_of_one_pool():
    symbols = draw_padded(4, 5, 2, 9)
    chain, bank = (
        theory.fill_pools(symbols, (0.3,), wiring=wiring) for wiring in ("chain", "parallel")
    )
    np.testing.assert_array_equal(chain, bank)
    assert theory.count_distinct_pools((0.3,), noise=0.0) == pytest.approx(1.0)


def test_chain_and_bank_hold_the_same_and_differ_in_how_exactly_it_can_be_read():
    """Pools of a chain are linear combinations of those of the bank, by partial fractions."""
    symbols, labels = draw_marked(10_000, 30)
    chain, bank = (
        theory.fill_pools(symbols, rates(1.5, 6), wiring=wiring)[:, 0]
        for wiring in ("chain", "parallel")
    )
    mixing = np.linalg.lstsq(bank[:, :, 1], chain[:, :, 1], rcond=None)[0]
    np.testing.assert_allclose(bank[:, :, 1] @ mixing, chain[:, :, 1], atol=1e-9)
    exact, noisy = (
        [theory.measure_linear_reader(held, labels, noise=noise) for held in (chain, bank)]
        for noise in (0.0, 0.1)
    )
    assert exact[0][0] == pytest.approx(exact[1][0], abs=1e-3)
    assert noisy[0][0] > noisy[1][0] + 4 * noisy[1][1]


@pytest.mark.parametrize("noise", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("distance", [1.0, 4.0])
def test_two_normal_classes_are_told_apart_as_the_normal_integral_says(noise, distance):
    """The noise is relative to the deviation of all samples, of both classes together."""
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 2, 80_000)
    contents = 3.0 + 0.01 * (generator.normal(size=80_000) + distance * labels)
    accuracy, error = theory.measure_linear_reader(contents[:, None, None], labels, noise=noise)
    deviation = np.sqrt(1 + noise**2 * (1 + distance**2 / 4))
    expected = norm.cdf(distance / 2 / deviation)
    assert accuracy == pytest.approx(expected, abs=4 * error)
    binomial = np.sqrt(expected * (1 - expected) / 40_000)
    if noise:
        # Noise is drawn several times, so less is left to chance.
        assert error < binomial
    else:
        assert error == pytest.approx(binomial, rel=0.1)


def test_of_several_normal_classes_it_is_the_rule_of_bayes():
    """A common covariance and equal priors: the nearest mean, in units of the deviation."""
    generator = np.random.default_rng(0)
    means = np.array([[0.0, 0.0], [4.0, 2.0], [8.0, 0.0], [12.0, 2.0]])
    labels = generator.integers(0, 4, 40_000)
    whitened = means[labels] + generator.normal(size=(40_000, 2))
    nearest = np.linalg.norm(whitened[:, None] - means, axis=-1).argmin(axis=1)
    expected = np.mean((nearest == labels)[20_000:])
    contents = whitened @ np.array([[1.0, 0.0], [3.0, 0.1]])
    accuracy, _ = theory.measure_linear_reader(contents[:, :, None], labels, noise=0.0)
    assert accuracy == pytest.approx(expected, abs=1e-3)


def test_a_reader_uses_what_pools_have_in_common():
    """A second pool that holds the noise of the first: their difference is the class."""
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 3, 20_000)
    shared = 1e5 * generator.normal(size=20_000)
    contents = np.stack([shared + labels, shared], axis=1)[:, :, None]
    exact, _ = theory.measure_linear_reader(contents, labels, noise=0.0)
    noisy, _ = theory.measure_linear_reader(contents, labels, noise=0.1)
    assert exact == 1.0
    assert noisy == pytest.approx(1 / 3, abs=0.1)


@both
def test_infinite_noise_leaves_chance(wiring):
    symbols, labels = draw_marked(20_000, 20)
    contents = theory.fill_pools(symbols, rates(2.0, 4), wiring=wiring)[:, 0]
    accuracy, error = theory.measure_linear_reader(contents, labels, noise=1e6)
    assert accuracy == pytest.approx(0.5, abs=4 * error)
    less, _ = theory.measure_linear_reader(contents, labels, noise=0.0)
    assert less > 0.9


@both
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_more_pools_never_hurt(wiring, noise):
    symbols, labels = draw_marked(20_000, 40)
    contents = theory.fill_pools(symbols, rates(1.5, 10), wiring=wiring)[:, 0]
    found = [
        theory.measure_linear_reader(contents[:, :pools], labels, noise=noise)
        for pools in (1, 2, 4, 7, 10)
    ]
    for (fewer, error), (more, _) in itertools.pairwise(found):
        assert more > fewer - 4 * error - 1e-3
    assert found[-1][0] > found[0][0] + 0.1


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_names_of_classes_and_symbols_do_not_matter(noise):
    generator = np.random.default_rng(0)
    symbols = draw_padded(6000, 1, 6, 9)
    labels = symbols[:, 0, -4]
    renamed = np.array([2, 0, 1])
    contents = theory.fill_pools(symbols, rates(1.5, 3))[:, 0]
    accuracy, error = theory.measure_linear_reader(contents, labels, noise=noise)
    others = [
        (contents, renamed[labels]),
        (contents[:, :, generator.permutation(3)], labels),
        (contents * np.array([5.0, 1.0, 1e-3])[:, None] + 7.0, labels),
    ]
    assert 0.4 < accuracy < 0.99
    for held, answers in others:
        other, _ = theory.measure_linear_reader(held, answers, noise=noise)
        # Without noise nothing is drawn.
        assert other == pytest.approx(accuracy, abs=4 * error if noise else 1e-3)


def test_a_pool_that_holds_nothing_does_no_harm():
    labels = np.tile([0, 1], 500)
    contents = np.stack([labels.astype(float), np.zeros(1000)], axis=1)[:, :, None]
    contents += 1e-3 * np.random.default_rng(0).normal(size=(1000, 1, 1)) * [[1.0], [0.0]]
    assert theory.measure_linear_reader(contents, labels)[0] == 1.0


def test_distinct_pools():
    """Equal pools count once; the chain's differ more than the bank's."""
    assert theory.count_distinct_pools((0.2, 0.2), wiring="parallel", noise=0.1) < 1.0
    assert theory.count_distinct_pools(rates(2.0, 8), noise=0.0) == pytest.approx(8.0)
    chain, bank = (
        theory.count_distinct_pools(rates(1.5, 12), wiring=wiring, noise=0.1)
        for wiring in ("chain", "parallel")
    )
    assert bank + 1 < chain < 12
    # Two pools in closed form: their correlation gives the eigenvalues 1 + r and 1 - r.
    a, b = 0.5, 0.25
    r = a * b / (1 - (1 - a) * (1 - b)) / np.sqrt(a / (2 - a) * b / (2 - b))
    expected = sum(g / (g + 0.09) for g in (1 + r, 1 - r))
    two = theory.count_distinct_pools((a, b), wiring="parallel", noise=0.3)
    assert two == pytest.approx(expected)


@pytest.mark.parametrize(
    ("symbols", "settings", "message"),
    [
        (np.zeros((3, 4), int), {}, "symbols has shape"),
        (np.array([[[0, -1, 2]]]), {}, "negative number after a symbol"),
        (np.array([[[0, 1, 2]]]), {"num_symbols": 2}, "num_symbols is 2"),
        (np.array([[[0, 1, 2]]]), {"start": np.zeros(2)}, "start has shape"),
        (np.array([[[0, 1, 2]]]), {"wiring": "ring"}, "wiring is 'ring'"),
    ],
)
def test_bad_symbols_are_named(unchecked_types, symbols, settings, message):
    with pytest.raises(ValueError, match=message):
        theory.fill_pools(wrong(symbols), (0.5,), **settings)


@pytest.mark.parametrize(
    ("labels", "noise", "message"),
    [
        (np.zeros(6, int), 0.1, "labels has the classes"),
        (np.array([0, 0, 0, 1, 1, 1]), 0.1, "labels has the classes"),
        (np.array([0, 1, -1, 0, 1, 0]), 0.1, "labels has the classes"),
        (np.zeros(5, int), 0.1, "labels"),
        (np.tile([0, 1], 3), 0.1, "contents has 6 samples of 6 numbers"),
        (np.tile([0, 1], 3), -0.1, "noise is -0.1"),
    ],
)
def test_bad_samples_are_named(unchecked_types, labels, noise, message):
    with pytest.raises(ValueError, match=message):
        theory.measure_linear_reader(np.zeros((6, 2, 3)), labels, noise=noise)
