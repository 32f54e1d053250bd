"""Which member copies which, on made-up scores, against SciPy called by hand."""

from typing import Any, cast

import numpy as np
import pytest
from scipy import stats

from longpass.agents import decide_copies
from longpass.agents._selection import sample_others, welch_p_value

RNG = np.random.default_rng(0)
# Means 0 to 4; the third has another spread and another number of episodes.
MEANS = (0.0, 0.05, 1.0, 2.0, 4.0)
SCORES = [
    RNG.normal(mean, 3.0 if n == 2 else 1.0, 90 if n == 2 else 300).astype(np.float32)
    for n, mean in enumerate(MEANS)
]


def t_test(mine, theirs, equal_var):
    """SciPy's p."""
    return cast(Any, stats.ttest_ind(mine, theirs, equal_var=equal_var)).pvalue


def test_decisions_are_those_of_welchs_test():
    seen = set()
    for number in range(40):
        for one in decide_copies(SCORES, seed=3, round=number):
            mine, theirs = (SCORES[i].astype(float) for i in (one.member, one.other))
            p = t_test(mine, theirs, equal_var=False)
            assert one.p == pytest.approx(p, rel=1e-9)
            assert one.copied == (p < 0.05 and theirs.mean() > mine.mean())
            assert (one.mean, one.other_mean) == pytest.approx((mine.mean(), theirs.mean()))
            assert (one.episodes, one.other_episodes) == (len(mine), len(theirs))
            seen.add((one.member, one.other, one.copied))
    assert {other for _, other, _ in seen} == {0, 1, 2, 3, 4}
    # What every pair must come to: 0 and 1 are too close to tell, all others are not.
    expected = {
        (i, j, MEANS[j] > MEANS[i] and {i, j} != {0, 1})
        for i in range(5)
        for j in range(5)
        if i != j
    }
    assert seen == expected


def test_student_would_decide_otherwise():
    """Welch's test is really the one in use: the pooled one gives another p."""
    mine, theirs = SCORES[0].astype(float), SCORES[2].astype(float)
    pooled = t_test(mine, theirs, equal_var=True)
    assert welch_p_value(mine, theirs) > 1.5 * pooled


def test_a_stricter_p_copies_less():
    close = [np.array([0.0, 1.0] * 20), np.array([0.0, 1.0, 1.0, 1.0] * 10)]
    value = t_test(*close, equal_var=False)
    assert 0.01 < value < 0.05
    assert decide_copies(close, 0, 0, significance=0.05)[0].copied
    assert not decide_copies(close, 0, 0, significance=0.01)[0].copied


def test_others_are_sampled_evenly_and_never_oneself():
    members, rounds = 5, 2000
    drawn = np.array([sample_others(members, 7, number) for number in range(rounds)])
    for member in range(members):
        counts = np.bincount(drawn[:, member], minlength=members)
        assert counts[member] == 0
        _, p = stats.chisquare(np.delete(counts, member))
        assert p > 1e-3
    # Members draw each for itself.
    pairs = np.histogram2d(drawn[:, 0], drawn[:, 1], bins=(np.arange(1, 6), [0, 1, 2, 3, 4, 5]))[0]
    assert cast(Any, stats.chi2_contingency(pairs[:, [0, 2, 3, 4]])).pvalue > 1e-3


def test_decisions_depend_on_scores_seed_and_round_alone():
    assert decide_copies(SCORES, 1, 2) == decide_copies(SCORES, 1, 2)
    others = [tuple(sample_others(9, seed, number)) for seed in range(3) for number in range(3)]
    assert len(set(others)) == 9


def test_whoever_is_alone_compares_with_nobody():
    assert decide_copies(SCORES[:1], 0, 0) == []


@pytest.mark.parametrize(
    ("mine", "theirs", "p", "copied"),
    [
        ([1.0, 1.0], [1.0, 1.0], 1.0, False),  # both constant and equal
        ([1.0, 1.0], [2.0, 2.0, 2.0], 0.0, True),  # both constant, the other better
        ([2.0, 2.0], [1.0, 1.0], 0.0, False),
        ([0.0], [5.0, 6.0, 7.0], None, False),  # too few to tell
        ([0.0, 0.1], [9.0], None, False),
        ([0.0, np.nan], [5.0, 5.1], None, False),
        ([], [1.0, 2.0], None, True),  # diverged: anything is better
        ([], [], None, False),
        ([1.0, 2.0], [], None, False),
    ],
)
def test_scores_that_cannot_be_tested(mine, theirs, p, copied):
    decision = decide_copies([np.array(mine), np.array(theirs)], 0, 0)[0]
    assert (decision.member, decision.other) == (0, 1)
    assert (decision.p, decision.copied) == (p, copied)
