"""Which members copy which: a pure function of scores, a seed and the number of the round.

The paper (appendix E): each agent samples another at random and compares scores of the last 3,000
episodes by a t-test; if the other is statistically better (p < 0.05), its weights are copied. The
paper does not say which test. Here it is Welch's (variances may differ), two-sided, and the other's
mean must be higher.
"""

import dataclasses
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy
from jaxtyping import Float

from longpass import _checks

_STREAM = 1  # of random numbers: no other draw of a population has it


@dataclasses.dataclass(frozen=True)
class Decision:
    """The comparison that one member makes at the end of a round. One line of the audit."""

    round: int
    member: int
    other: int
    """The member that it is compared with."""
    mean: float | None
    """Mean of its scores; None if it has none."""
    other_mean: float | None
    episodes: int
    """How many scores it has."""
    other_episodes: int
    p: float | None
    """The p-value of Welch's test; None if there are too few scores."""
    copied: bool
    """Whether it begins the next round with the other's weights."""


def decide_copies(
    scores: Sequence[Float[np.ndarray, "_"]],
    seed: int,
    round: int,
    significance: float = 0.05,
) -> list[Decision]:
    """The decisions of all members at the end of a round, made before any of them copies.

    **Arguments:**

    - `scores`: of each member, in its last episodes. A member that diverged has none: it copies the
      one that it samples, if that one has scores.
    - `seed`: of the population.
    - `round`: the number of the round.
    - `significance`: the other counts as better if the p-value is below this.

    **Returns:**

    One decision per member.

    >>> scores = [np.array([1.0, 1.1, 0.9]), np.array([3.0, 3.1, 2.9])]
    >>> [decision.copied for decision in decide_copies(scores, seed=0, round=0)]
    [True, False]
    """
    others = sample_others(len(scores), seed, round)
    return [
        _compare(scores, member, other, round, significance)
        for member, other in enumerate(others)
        if other is not None
    ]


def sample_others(members: int, seed: int, round: int) -> list[int | None]:
    """The member that each is compared with, all others equally likely; None if there is none."""
    _checks.positive_int("members", members)
    if members == 1:
        return [None]
    draws = np.random.default_rng([seed, round, _STREAM]).integers(members - 1, size=members)
    return [int(draw + (draw >= member)) for member, draw in enumerate(draws)]


def welch_p_value(one: np.ndarray, other: np.ndarray) -> float | None:
    """The two-sided p-value of Welch's t-test.

    If both are constant, the test is not defined: it is 1 if they are equal and 0 if they differ.

    **Returns:** None for fewer than two scores, or if a score is not a number.
    """
    one, other = np.asarray(one, np.float64), np.asarray(other, np.float64)
    if min(len(one), len(other)) < 2:
        return None
    if np.ptp(one) == 0 and np.ptp(other) == 0:
        return float(one[0] == other[0])
    with warnings.catch_warnings():
        # For scores that hardly vary, SciPy warns of a loss of precision.
        warnings.simplefilter("ignore", RuntimeWarning)
        result: Any = scipy.stats.ttest_ind(one, other, equal_var=False)
    return None if np.isnan(result.pvalue) else float(result.pvalue)


def _compare(
    scores: Sequence[np.ndarray], member: int, other: int, round: int, significance: float
) -> Decision:
    mine, theirs = scores[member], scores[other]
    mean, other_mean = _mean(mine), _mean(theirs)
    value = welch_p_value(mine, theirs)
    if mean is None:
        copied = other_mean is not None
    else:
        better = other_mean is not None and other_mean > mean
        copied = better and value is not None and value < significance
    return Decision(
        round=round,
        member=member,
        other=other,
        mean=mean,
        other_mean=other_mean,
        episodes=len(mine),
        other_episodes=len(theirs),
        p=value,
        copied=bool(copied),
    )


def _mean(scores: np.ndarray) -> float | None:
    return float(np.mean(scores, dtype=np.float64)) if len(scores) else None
