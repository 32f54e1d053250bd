"""Statistics of claims against SciPy, against values worked out by hand, and in simulations."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from longpass._intervals import difference_interval, proportion_interval, superiority_interval
from longpass.claims import (
    Estimate,
    compare_proportions,
    compare_quantiles,
    correlate_ranks,
    estimate_superiority,
    superiority,
)
from tests.helpers import given

RNG = np.random.default_rng(5)


def test_wilsons_interval_is_the_textbooks():
    p, low, high = proportion_interval(15, 20)
    z = stats.norm.ppf(0.975)
    centre = (p + z**2 / 40) / (1 + z**2 / 20)
    half = z / (1 + z**2 / 20) * np.sqrt(p * (1 - p) / 20 + z**2 / 1600)
    assert (p, low, high) == pytest.approx((0.75, centre - half, centre + half))


@pytest.mark.parametrize(
    ("first", "second", "interval"),
    [  # Newcombe (1998), table II, method 10
        ((56, 70), (48, 80), (0.0524, 0.3339)),
        ((9, 10), (3, 10), (0.1705, 0.8090)),
        ((6, 7), (2, 7), (0.0582, 0.8062)),
        ((5, 56), (0, 29), (-0.0381, 0.1926)),
        ((0, 10), (0, 20), (-0.1611, 0.2775)),
        ((10, 10), (0, 20), (0.6791, 1.0)),
    ],
)
def test_newcombes_interval_is_that_of_his_table(first, second, interval):
    value, low, high = difference_interval(first, second)
    assert value == pytest.approx(first[0] / first[1] - second[0] / second[1])
    assert (low, high) == pytest.approx(interval, abs=5e-5)
    assert compare_proportions(first, second) == (value, (low, high))


def test_superiority_is_mann_and_whitneys_u():
    pairs = [(RNG.integers(0, 6, 13) / 5, RNG.integers(0, 6, 9) / 5) for _ in range(3)]
    expected = [stats.mannwhitneyu(a, b).statistic / (len(a) * len(b)) for a, b in pairs]
    assert superiority(pairs).value == pytest.approx(np.mean(expected))


def test_superiority_of_few_runs_has_an_interval_with_a_width():
    estimate = estimate_superiority(np.arange(5.0) + 5, np.arange(5.0))
    assert estimate.value == 1.0
    low, high = given(estimate.interval)
    assert 0.5 < low < 0.7
    assert high == 1.0
    low, high = superiority_interval(0.3, 5, 7)
    assert superiority_interval(0.7, 5, 7) == pytest.approx((1 - high, 1 - low))
    assert superiority_interval(0.3, 7, 5) == pytest.approx((low, high))


def test_rank_correlation_is_spearmans():
    groups = [RNG.integers(0, 5, (count, 2)).astype(float) for count in (8, 21)]
    spearman: Any = stats.spearmanr  # its result has no type
    expected = [spearman(*group.T).statistic for group in groups]
    assert correlate_ranks(groups).value == pytest.approx(np.mean(expected))


def test_numbers_that_do_not_vary_are_not_correlated():
    group = np.stack([np.arange(12.0), np.full(12, 0.25)], axis=1)
    assert correlate_ranks([group]) == (0.0, (0.0, 0.0))


def test_quantiles_are_those_of_all_groups_together():
    first, second = [np.arange(10.0), np.arange(10.0, 21.0)], [np.zeros(5)]
    assert compare_quantiles(first, second).value == pytest.approx(18.0)


def test_runs_are_drawn_within_groups():
    """Whatever is drawn from groups of equal runs, quantiles stay: 3 of 30 runs score 1."""
    constant = [np.zeros(27), np.ones(3)]
    quantile = np.quantile(np.concatenate(constant), 0.9)
    assert compare_quantiles(constant, [np.zeros(4)]) == (quantile, (quantile, quantile))


def test_one_run_has_no_interval():
    assert compare_quantiles([np.ones(1)], [np.zeros(8)]) == (1.0, None)
    assert superiority([(np.ones(8), np.zeros(1))]) == (1.0, None)
    assert correlate_ranks([np.ones((1, 2))]) == (0.0, None)


def draw_quantiles(rng: np.random.Generator) -> tuple[Estimate, float]:
    """Three groups of each kind, as truncations are, and the true difference."""
    means = (0.2, 0.0, -0.2)
    return compare_quantiles(
        [rng.normal(mean + 1, 1, 30) for mean in means], [rng.normal(mean, 1, 30) for mean in means]
    ), 1.0


def draw_superiority(rng: np.random.Generator) -> tuple[Estimate, float]:
    pair = rng.normal(1, 1, 30), rng.normal(0, 1, 30)
    return superiority([pair]), float(stats.norm.cdf(1 / np.sqrt(2)))


def draw_few(rng: np.random.Generator) -> tuple[Estimate, float]:
    return estimate_superiority(rng.normal(1, 1, 5), rng.normal(0, 1, 5)), float(
        stats.norm.cdf(1 / np.sqrt(2))
    )


def draw_few_without_difference(rng: np.random.Generator) -> tuple[Estimate, float]:
    return estimate_superiority(rng.normal(0, 1, 5), rng.normal(0, 1, 5)), 0.5


def draw_ranks(rng: np.random.Generator) -> tuple[Estimate, float]:
    """Normal numbers with correlation 0.5, and the true correlation of their ranks."""
    pairs = rng.multivariate_normal((0, 0), ((1, 0.5), (0.5, 1)), 30)
    return correlate_ranks([pairs]), 6 / np.pi * np.arcsin(0.25)


@pytest.mark.slow
@pytest.mark.parametrize(
    "draw",
    [draw_quantiles, draw_superiority, draw_few, draw_few_without_difference, draw_ranks],
)
def test_about_95_of_100_intervals_include_the_truth(draw):
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(200):
        estimate, truth = draw(rng)
        low, high = given(estimate.interval)
        covered.append(low <= truth <= high)
    assert 0.9 < np.mean(covered) < 0.99


def test_an_estimate_is_the_same_every_time():
    scores = RNG.uniform(size=20)
    assert compare_quantiles([scores], [scores / 2]) == compare_quantiles([scores], [scores / 2])
