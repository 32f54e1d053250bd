"""95 % intervals of proportions, of their differences, and of a probability of being above."""

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


def superiority_interval(value: float, first: int, second: int) -> tuple[float, float]:
    """The interval of the probability that a random one of the first is above one of the second.

    It is made for few runs: it has a width also where all of the first are above all of the second.
    R. G. Newcombe, Confidence intervals for an effect size measure based on the Mann-Whitney
    statistic, part 2, Statistics in Medicine 25 (2006), method 5.

    **Arguments:**

    - `value`: the share of pairs in which the first is above, ties half.
    - `first`, `second`: how many of each there are.

    **Returns:** (lower, upper end of the 95 % interval).
    """
    z = scipy.stats.norm.ppf(0.975)
    pairs, spread = first * second, (first + second) / 2 - 1

    def excess(p: float) -> float:
        """How far the value lies beyond what is expected of p, in squares."""
        variance = p * (1 - p) * (1 + spread * ((1 - p) / (2 - p) + p / (1 + p))) / pairs
        return (value - p) ** 2 - z**2 * variance

    # The ends are where the excess is 0; at 0 and 1 it is 0 too, but is no end.
    inside = min(max(value, 1e-9), 1 - 1e-9)
    low = 0.0 if value == 0 else scipy.optimize.brentq(excess, 0.0, inside)
    high = 1.0 if value == 1 else scipy.optimize.brentq(excess, inside, 1.0)
    return low, high
