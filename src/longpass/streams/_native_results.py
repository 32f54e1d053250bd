"""Labels and results in native code: where labels are, the loss, what is counted (`_tally.py`)."""

import math
from typing import Any, NamedTuple

from longpass.streams._numba import compile_native
from longpass.streams._tally import CRITERION_ERROR, CRITERION_LENGTH, SMOOTHING


class Symbols(NamedTuple):
    """A piece of all streams, (steps, B), and how it is cut into minibatches."""

    symbols: Any
    labels: Any
    starts: Any
    clear: bool
    truncation: int
    segment: int
    """Steps in which a stream has at most one label."""


class Counts(NamedTuple):
    """A tally (`_tally.py`) as arrays that can be changed."""

    updates: Any
    sequences: Any
    right: Any
    smoothed: Any
    streak: Any
    criterion: Any
    diverged: Any
    curve: Any
    limit: int
    counted: int


@compile_native
def find_slots(piece, first, slot_of, found, time, stream):
    """Number the labels of the minibatch at `first`, in the order of `_slots.py`.

    Fills `slot_of` (T, B), -1 where there is no label, and the time and stream of each slot.
    `found` is scratch, (segments, B). **Returns:** how many there are.
    """
    length, batch = slot_of.shape
    count = 0
    found[:] = -1
    for t in range(length):
        for b in range(batch):
            slot_of[t, b] = -1
            if piece.labels[first + t, b] >= 0:
                found[t // piece.segment, b] = t
                count += 1
    if count > 0:
        count = 0
        for part in range(found.shape[0]):
            for b in range(batch):
                t = found[part, b]
                if t >= 0:
                    slot_of[t, b] = count
                    time[count] = t
                    stream[count] = b
                    count += 1
    return count


@compile_native
def judge(logits, label, share, slope):
    """The loss at a slot, and its slope by the logits times `share`.

    **Returns:** (loss, whether the class is right, whether every output is nearly right).
    """
    best, top = 0, logits[0]
    for c in range(1, len(logits)):
        if logits[c] > top:
            best, top = c, logits[c]
    total = logits.dtype.type(0)
    for c in range(len(logits)):
        slope[c] = math.exp(logits[c] - top)
        total += slope[c]
    loss = math.log(total) - (logits[label] - top)
    sure = slope[label] / total > 1 - CRITERION_ERROR
    for c in range(len(logits)):
        slope[c] *= share / total
    slope[label] -= share
    return loss, best == label, sure


@compile_native
def count_result(counts, right, sure):
    """Count one sequence."""
    counts.sequences[0] += 1
    counts.smoothed[0] = SMOOTHING * counts.smoothed[0] + (1 - SMOOTHING) * right
    if right and counts.sequences[0] <= counts.counted:
        counts.right[0] += 1
    counts.streak[0] = counts.streak[0] + 1 if sure else 0
    if counts.streak[0] >= CRITERION_LENGTH and counts.criterion[0] < 0:
        counts.criterion[0] = counts.sequences[0]


@compile_native
def count_results(counts, slots, losses, right, sure):
    """Count the results of a minibatch in the order of its slots."""
    total = losses.dtype.type(0)
    for s in range(slots):
        total += losses[s]
        count_result(counts, right[s], sure[s])
    if not math.isfinite(total) and counts.diverged[0] < 0:
        counts.diverged[0] = counts.updates[0]


@compile_native
def count_update(counts):
    """Count one update."""
    counts.updates[0] += 1
    # In the type of the curve, as the compiled program has it: it rounds in the same way.
    curve = counts.curve
    part = curve.dtype.type(counts.updates[0]) / curve.dtype.type(counts.limit)
    position = part * curve.dtype.type(len(curve))
    curve[max(math.ceil(position) - 1, 0)] = counts.smoothed[0]
