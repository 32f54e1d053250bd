"""Slots are the places of the labels, in order."""

import jax.numpy as jnp
import numpy as np

from longpass.streams import NO_LABEL
from longpass.streams._slots import find_candidates, pack_slots


def places(slots):
    """The (segment's order, stream): (time, label) of every valid slot."""
    valid = np.asarray(slots.valid)
    columns = (slots.time, slots.stream, slots.label)
    return list(zip(*(np.asarray(column)[valid].tolist() for column in columns), strict=True))


def test_every_label_is_a_candidate_and_packed_in_order():
    labels = np.full((7, 3), NO_LABEL, np.int32)
    labels[1, 2], labels[6, 0], labels[3, 1], labels[4, 2] = 3, 0, 1, 2
    # Two segments of four steps: the last one is a step shorter.
    candidates = find_candidates(jnp.asarray(labels), 2)
    expected = [(3, 1, 1), (1, 2, 3), (6, 0, 0), (4, 2, 2)]
    assert candidates.valid.shape == (6,)
    assert places(candidates) == expected
    for count in (4, 5, 6):
        packed = pack_slots(candidates, count)
        assert packed.valid.shape == (count,)
        assert places(packed) == expected
    assert places(pack_slots(candidates, 2)) == expected[:2]


def test_a_minibatch_without_labels_has_no_valid_slot():
    candidates = find_candidates(jnp.full((5, 2), NO_LABEL, jnp.int32), 1)
    assert places(candidates) == places(pack_slots(candidates, 1)) == []
