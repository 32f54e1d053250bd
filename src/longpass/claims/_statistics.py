"""The statistics of the claims, each with a 95 % interval.

Those of many runs are bootstrapped: runs are drawn with replacement within each group, and the
interval is that of the percentiles. A statistic sees many draws at once: the first axis of its
arrays. Those of few agents have intervals in closed form.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import scipy
from jaxtyping import Float

from longpass._intervals import difference_interval, proportion_interval, superiority_interval

TOP = 0.9
"""The best tenth of runs is above this quantile."""
RESAMPLES = 2000

# Groups have different numbers of runs, so that axis has no name.
Scores = Float[np.ndarray, " _"]
Draws = Float[np.ndarray, "draws _ ..."]


class Estimate(NamedTuple):
    """The value of a statistic with its 95 % interval.

    The interval is None if a group has fewer than two runs, which say nothing about their spread.
    """

    value: float
    interval: tuple[float, float] | None


def compare_quantiles(first: Sequence[Scores], second: Sequence[Scores]) -> Estimate:
    """How far the best tenth of the first runs is above that of the second.

    **Arguments:**

    - `first`, `second`: scores in groups; runs are drawn within each group.

    **Returns:** the difference of the 90 % quantiles over all groups.
    """

    def difference(groups: Sequence[Draws]) -> Float[np.ndarray, " draws"]:
        one, other = groups[: len(first)], groups[len(first) :]
        return _top(one) - _top(other)

    return _bootstrap(difference, [*first, *second])


def superiority(pairs: Sequence[tuple[Scores, Scores]]) -> Estimate:
    """How probably a random run of the first kind is above one of the second.

    **Arguments:**

    - `pairs`: scores of both kinds, one pair per condition.

    **Returns:** the probability, mean over conditions; a tie counts half.
    """

    def mean(groups: Sequence[Draws]) -> Float[np.ndarray, " draws"]:
        return np.mean([_above(*pair) for pair in zip(groups[::2], groups[1::2], strict=True)], 0)

    return _bootstrap(mean, [scores for pair in pairs for scores in pair])


def estimate_superiority(first: Scores, second: Scores) -> Estimate:
    """How probably a random run of the first kind is above one of the second, from few runs.

    **Arguments:**

    - `first`, `second`: scores, at least one of each.

    **Returns:** the probability, where a tie counts half, with Newcombe's interval.
    """
    (value,) = _above(first[None], second[None])
    return Estimate(float(value), superiority_interval(float(value), len(first), len(second)))


def correlate_ranks(groups: Sequence[Float[np.ndarray, "_ 2"]]) -> Estimate:
    """Spearman's rank correlation, mean over groups.

    **Arguments:**

    - `groups`: pairs of numbers, one per run.

    **Returns:** the correlation. Where one of the numbers is the same in all runs of a group, that
    of the group is 0.
    """
    return _bootstrap(lambda draws: np.mean([_spearman(one) for one in draws], 0), groups)


def estimate_proportion(successes: int, count: int) -> Estimate:
    """A proportion, with Wilson's interval.

    **Arguments:**

    - `successes`: how many of the runs.
    - `count`: how many runs.

    **Returns:**

    The proportion and its interval.
    """
    value, low, high = proportion_interval(successes, count)
    return Estimate(value, (low, high))


def compare_proportions(first: tuple[int, int], second: tuple[int, int]) -> Estimate:
    """The difference of two proportions, by Newcombe's method.

    **Arguments:**

    - `first`, `second`: (successes, count) of each.

    **Returns:**

    The first proportion less the second, and its interval.
    """
    value, low, high = difference_interval(first, second)
    return Estimate(value, (low, high))


def _bootstrap(
    statistic: Callable[[Sequence[Draws]], Float[np.ndarray, " draws"]],
    groups: Sequence[Float[np.ndarray, "_ ..."]],
) -> Estimate:
    (value,) = statistic([group[None] for group in groups])
    if min(map(len, groups)) < 2:
        return Estimate(float(value), None)
    rng = np.random.default_rng(0)
    draws = [group[rng.integers(len(group), size=(RESAMPLES, len(group)))] for group in groups]
    low, high = np.quantile(statistic(draws), (0.025, 0.975))
    return Estimate(float(value), (float(low), float(high)))


def _top(groups: Sequence[Draws]) -> Float[np.ndarray, " draws"]:
    return np.quantile(np.concatenate(groups, axis=1), TOP, axis=1)


def _above(
    first: Float[np.ndarray, "draws first"], second: Float[np.ndarray, "draws second"]
) -> Float[np.ndarray, " draws"]:
    """The share of pairs in which `first` is larger, from ranks: Mann and Whitney's U."""
    count = first.shape[1]
    ranks = scipy.stats.rankdata(np.concatenate([first, second], axis=1), axis=1)[:, :count]
    return (ranks.mean(axis=1) - (count + 1) / 2) / second.shape[1]


def _spearman(pairs: Float[np.ndarray, "draws runs 2"]) -> Float[np.ndarray, " draws"]:
    ranks = scipy.stats.rankdata(pairs, axis=1)
    ranks -= ranks.mean(axis=1, keepdims=True)
    x, y = ranks[..., 0], ranks[..., 1]
    scale = np.sqrt((x**2).sum(axis=1) * (y**2).sum(axis=1))
    return np.divide((x * y).sum(axis=1), scale, out=np.zeros_like(scale), where=scale > 0)
