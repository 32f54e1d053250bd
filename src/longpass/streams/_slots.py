"""Slots: the places of a minibatch at which the network is read.

A label comes once in about a hundred symbols. A minibatch has T steps of B streams. Its steps are
cut into segments that are not longer than the shortest sequence, so that a stream has at most one
label in each. There are segments * B candidates, and mostly far fewer labels. The labels are packed
into a fixed number of slots, as a compiled program needs; docs/classification.md has a picture.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from longpass.streams._stream import NO_LABEL


class Slots(NamedTuple):
    """Places at which the network is read. Those that are not `valid` have no label."""

    time: Int[Array, " S"]
    stream: Int[Array, " S"]
    label: Int[Array, " S"]
    valid: Bool[Array, " S"]


def find_candidates(labels: Int[Array, "T B"], segments: int) -> Slots:
    """All places where a label may be.

    **Arguments:**

    - `labels`: of one minibatch, `NO_LABEL` where there is none.
    - `segments`: the steps are cut into this many parts; a stream has at most one label in each.

    **Returns:** `segments` * B slots, valid where there is a label.
    """
    T, B = labels.shape
    length = -(-T // segments)
    padded = jnp.pad(labels, ((0, segments * length - T), (0, 0)), constant_values=NO_LABEL)
    parts = padded.reshape(segments, length, B)
    found = parts != NO_LABEL
    step = jnp.arange(length, dtype=jnp.int32)[:, None]
    time = jnp.sum(jnp.where(found, step, 0), axis=1, dtype=jnp.int32)
    offset = length * jnp.arange(segments, dtype=jnp.int32)[:, None]
    return Slots(
        time=(time + offset).ravel(),
        stream=jnp.tile(jnp.arange(B, dtype=jnp.int32), segments),
        label=jnp.sum(jnp.where(found, parts, 0), axis=1, dtype=jnp.int32).ravel(),
        valid=jnp.any(found, axis=1).ravel(),
    )


def pack_slots(candidates: Slots, count: int) -> Slots:
    """The first `count` valid candidates, in order; slots beyond the last of them are not valid."""
    if count == candidates.valid.shape[0]:
        return candidates
    place = jnp.cumsum(candidates.valid, dtype=jnp.int32) - 1
    place = jnp.where(candidates.valid, place, count)
    which = jnp.arange(candidates.valid.shape[0], dtype=jnp.int32)
    source = jnp.zeros(count, jnp.int32).at[place].set(which, mode="drop")
    packed = jax.tree.map(lambda leaf: leaf[source], candidates)
    filled = jnp.arange(count) < jnp.sum(candidates.valid)
    return packed._replace(valid=filled)
