"""Who copies whom: a pure function of the members' scores, a seed and the number of the round.

The paper (appendix D): each agent samples another at random and compares scores of the last 3,000
episodes by a t-test; if the other is statistically better (p < 0.05), its weights are copied. Open
there, and taken here: the test is Welch's (variances may differ) and two-sided, with the other's
mean the higher one.
"""

import dataclasses
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.stats import ttest_ind

from longpass import _checks

_STREAM = 1  # of random numbers: no other draw of a population has it


@dataclasses.dataclass(frozen=True)
class Decision:
    """What one member saw at the end of a round, and whether it copies."""

    round: int
    member: int
    other: int
    """The member that it compared itself with."""
    mean: float | None
    """Of its scores; None if it has none."""
    other_mean: float | None
    episodes: int
    """How many scores it has."""
    other_episodes: int
    p: float | None
    """Welch's; None where there is nothing to test."""
    copied: bool
    """Whether it begins the next round with the other's weights."""

    def to_dict(self) -> dict[str, Any]:
        """One line of the audit."""
        return dataclasses.asdict(self)


def decide(
    scores: Sequence[Float[np.ndarray, "_"]], seed: int, round: int, p: float = 0.05
) -> list[Decision]:
    """The decisions of all members at the end of a round, made before anyone copies.

    **Arguments:** `scores`: of each member, in its last episodes (none if it diverged: then it
    copies whoever it samples, if that one did not); `p`: below this the other counts as better.
    """
    others = sampled(len(scores), seed, round)
    return [
        _compare(scores, member, other, round, p)
        for member, other in enumerate(others)
        if other is not None
    ]


def sampled(members: int, seed: int, round: int) -> list[int | None]:
    """Whom each member compares itself with: any other, all equally likely; None if it is alone."""
    _checks.positive_int("members", members)
    if members == 1:
        return [None]
    draws = np.random.default_rng([seed, round, _STREAM]).integers(members - 1, size=members)
    return [int(draw + (draw >= member)) for member, draw in enumerate(draws)]


def welch(one: np.ndarray, other: np.ndarray) -> float | None:
    """The two-sided p-value of Welch's t-test.

    Scores that never vary have no t: if both are constant, p is 1 where they are equal and 0 where
    they differ. None for fewer than two scores, or where a score is not a number.
    """
    one, other = np.asarray(one, np.float64), np.asarray(other, np.float64)
    if min(len(one), len(other)) < 2:
        return None
    if np.ptp(one) == 0 and np.ptp(other) == 0:
        return float(one[0] == other[0])
    with warnings.catch_warnings():
        # Scores that hardly vary: SciPy warns of lost digits, which decide nothing here.
        warnings.simplefilter("ignore", RuntimeWarning)
        result: Any = ttest_ind(one, other, equal_var=False)
    return None if np.isnan(result.pvalue) else float(result.pvalue)


def _compare(
    scores: Sequence[np.ndarray], member: int, other: int, round: int, p: float
) -> Decision:
    mine, theirs = scores[member], scores[other]
    mean, other_mean = _mean(mine), _mean(theirs)
    value = welch(mine, theirs)
    if mean is None:
        copied = other_mean is not None
    else:
        better = other_mean is not None and other_mean > mean
        copied = better and value is not None and value < p
    return Decision(
        round, member, other, mean, other_mean, len(mine), len(theirs), value, bool(copied)
    )


def _mean(scores: np.ndarray) -> float | None:
    return float(np.mean(scores, dtype=np.float64)) if len(scores) else None
