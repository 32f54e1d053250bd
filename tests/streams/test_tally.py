"""What is counted while a run learns is what the definitions say."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from longpass.streams._slots import Slots
from longpass.streams._tally import (
    CRITERION_LENGTH,
    TrainingLimits,
    count_results,
    count_update,
    init_tally,
)

_count = jax.jit(count_results)
_count_update = jax.jit(count_update)


def count(tally, outcomes, valid=None, limit=10**6):
    """Count outcomes: right and sure, right and unsure, or wrong."""
    logits = {"sure": (5.0, 0.0), "unsure": (0.5, 0.0), "wrong": (0.0, 5.0)}
    rows = np.array([logits[outcome] for outcome in outcomes])
    valid = np.ones(len(outcomes), bool) if valid is None else np.array(valid)
    zeros = jnp.asarray(np.zeros(len(outcomes), np.int32))
    limits = TrainingLimits(jnp.asarray(np.int32(10**6)), jnp.asarray(np.int32(limit)))
    return _count(tally, rows, Slots(zeros, zeros, zeros, jnp.asarray(valid)), limits)


def test_the_smoothed_accuracy_takes_results_one_by_one():
    outcomes = ["sure", "wrong", "unsure", "wrong", "sure"]
    valid = [True, True, False, True, True]
    tally = count(init_tally(2, jnp.float64), outcomes, valid)
    expected = 0.5
    for outcome, counts in zip(outcomes, valid, strict=True):
        if counts:
            expected = 0.98 * expected + 0.02 * (outcome != "wrong")
    assert tally.smoothed == pytest.approx(expected)
    assert tally.sequences == 4
    assert tally.right == 2


def test_only_the_first_sequences_count_for_the_held_out_score():
    tally = count(init_tally(2, jnp.float64), ["sure", "wrong", "sure", "sure"], limit=3)
    assert tally.right == 2
    assert count(tally, ["sure"], limit=3).right == 2


def test_the_criterion_wants_2000_in_a_row_and_says_after_how_many():
    tally = count(init_tally(2, jnp.float64), ["sure", "sure", "unsure", "sure"])
    assert tally.streak == 1
    assert CRITERION_LENGTH == 2000
    tally = tally._replace(streak=jnp.int32(2000 - 3), sequences=jnp.int32(5000))
    assert count(tally, ["sure", "sure", "wrong"]).criterion == -1
    met = count(tally, ["sure", "sure", "sure", "wrong", "sure"])
    assert met.criterion == 5003
    assert met.streak == 1
    assert count(met, ["sure"]).criterion == 5003
    assert count(tally, ["sure"] * 4, [True, False, True, True]).criterion == 5003


def test_the_points_of_the_curve_lie_evenly_over_all_updates():
    limits = TrainingLimits(jnp.int32(250), jnp.int32(0))
    tally = init_tally(2, jnp.float64)
    for update in range(1, 251):
        tally = _count_update(tally._replace(smoothed=jnp.asarray(float(update))), limits)
    # Each point has the accuracy of the last update up to it, or of the one before.
    np.testing.assert_allclose(tally.curve, np.arange(1, 21) * 12.5, rtol=0, atol=1)
