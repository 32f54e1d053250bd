"""95 % intervals of proportions and of their differences."""

import math

import scipy


def proportion_interval(successes: int, count: int) -> tuple[float, float, float]:
    """(Proportion, lower and upper end of its 95 % interval by Wilson's score)."""
    interval = scipy.stats.binomtest(successes, count).proportion_ci(0.95, method="wilson")
    return successes / count, interval.low, interval.high


def difference_interval(
    first: tuple[int, int], second: tuple[int, int]
) -> tuple[float, float, float]:
    """The difference of two proportions, by Newcombe's method from Wilson's intervals.

    R. G. Newcombe, Interval estimation for the difference between independent proportions,
    Statistics in Medicine 17 (1998), method 10.

    **Arguments:**

    - `first`, `second`: (successes, count) of each.

    **Returns:** (first minus second, lower and upper end of the 95 % interval).
    """
    p, p_low, p_high = proportion_interval(*first)
    q, q_low, q_high = proportion_interval(*second)
    return (
        p - q,
        p - q - math.hypot(p - p_low, q_high - q),
        p - q + math.hypot(p_high - p, q - q_low),
    )
