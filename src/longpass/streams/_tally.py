"""What is counted while a run learns: accuracy, its curve, and the criterion of 1997."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, Float, Int

from longpass.streams._slots import Slots
from longpass.streams._stream import AnyArray

SMOOTHING = 0.98
CRITERION_LENGTH = 2000  # sequences in a row that the criterion of 1997 wants to be right
CRITERION_ERROR = 0.3  # that every output may have at most, to count as right for it
CURVE_POINTS = 20


class TrainingLimits(NamedTuple):
    """Where learning ends, and which sequences count for the accuracy."""

    updates: Int[AnyArray, ""]
    """Number of updates."""
    counted_sequences: Int[AnyArray, ""]
    """Only the first ones, this many, count for `Tally.right`."""


class Tally(NamedTuple):
    """What has been counted so far. Numbers of updates and sequences; -1 for never."""

    updates: Int[AnyArray, ""]
    sequences: Int[AnyArray, ""]
    right: Int[AnyArray, ""]
    smoothed: Float[AnyArray, ""]
    streak: Int[AnyArray, ""]
    criterion: Int[AnyArray, ""]
    diverged: Int[AnyArray, ""]
    curve: Float[AnyArray, " points"]


def init_tally(classes: int, dtype: DTypeLike) -> Tally:
    """A tally before the first update; the smoothed accuracy begins at chance."""
    # NumPy arrays, so that nothing is compiled.
    zero, never = np.zeros((), np.int32), np.full((), -1, np.int32)
    return Tally(
        updates=zero,
        sequences=zero,
        right=zero,
        smoothed=np.full((), 1 / classes, dtype),
        streak=zero,
        criterion=never,
        diverged=never,
        curve=np.full(CURVE_POINTS, np.nan, dtype),
    )


def count_results(
    tally: Tally, logits: Float[Array, "S classes"], slots: Slots, limits: TrainingLimits
) -> Tally:
    """Count the results of one minibatch, in the order of its slots.

    **Arguments:**

    - `tally`: before the minibatch.
    - `logits`: what the network says at the slots.
    - `slots`: the places and labels.
    - `limits`: which sequences count.
    """
    valid = slots.valid
    right = (jnp.argmax(logits, axis=-1) == slots.label) & valid
    # All outputs are within 0.3 of a one-hot target where the target's own is.
    target = jnp.take_along_axis(jax.nn.softmax(logits), slots.label[:, None], axis=1)[:, 0]
    sure = (target > 1 - CRITERION_ERROR) & valid
    number = jnp.cumsum(valid, dtype=jnp.int32)  # of each result in this minibatch, from 1
    count = number[-1]
    counted = tally.sequences + number <= limits.counted_sequences
    weights = jnp.where(right, SMOOTHING ** (count - number).astype(logits.dtype), 0)
    smoothed = SMOOTHING ** count.astype(logits.dtype) * tally.smoothed
    smoothed = smoothed + (1 - SMOOTHING) * jnp.sum(weights)
    # Minibatches are shorter than the criterion: the streak that meets it began before.
    wrong = valid & ~sure
    before_wrong = jnp.min(jnp.where(wrong, number - 1, count))
    met = (tally.streak + before_wrong >= CRITERION_LENGTH) & (tally.criterion < 0)
    met_at = tally.sequences + CRITERION_LENGTH - tally.streak
    after_wrong = count - jnp.max(jnp.where(wrong, number, 0))
    streak = jnp.where(jnp.any(wrong), after_wrong, tally.streak + count)
    return tally._replace(
        sequences=tally.sequences + count,
        right=tally.right + jnp.sum(right & counted, dtype=jnp.int32),
        smoothed=smoothed,
        streak=streak,
        criterion=jnp.where(met, met_at, tally.criterion),
    )


def count_update(tally: Tally, limits: TrainingLimits) -> Tally:
    """Count one update. The points of the curve lie evenly over all updates."""
    updates = tally.updates + 1
    position = updates.astype(tally.curve.dtype) / limits.updates * CURVE_POINTS
    point = jnp.maximum(jnp.ceil(position).astype(jnp.int32) - 1, 0)
    return tally._replace(
        updates=updates, curve=jnp.asarray(tally.curve).at[point].set(tally.smoothed)
    )
