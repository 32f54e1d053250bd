"""Learning with an LSTM in native code.

Only streams with a label have a backward pass, up to their last label. Streams are run in blocks,
those with the latest labels first: at every step, the streams of a block that have a backward pass
are its first ones. In shapes: T steps, B streams, R streams of a block (rows), S labels (slots), A
symbols in the alphabet, C classes, H units of the LSTM, M of the layer that reads it.
"""

from typing import Any, NamedTuple

import numpy as np

from longpass.streams._native_adam import catch_up, finish_updates, update_weights
from longpass.streams._native_gates import reverse_gates, run_gates
from longpass.streams._native_layers import apply_layer, relu, reverse_layer
from longpass.streams._native_results import count_results, count_update, find_slots, judge
from longpass.streams._numba import compile_native

# OpenBLAS has a faster way for products of at most so many multiplications and, if the second
# matrix is transposed, so many numbers.
_SMALL_PRODUCT = 1_000_000
_SMALL_RESULT = 1200
# A block has this many units, so that caches hold its states, in at most and at least so many rows.
_BLOCK_UNITS = 1024
_MOST_ROWS = 64
_LEAST_ROWS = 16


class LSTMWeights(NamedTuple):
    """Views of a vector: the arrays of a classifier with an LSTM, in its order.

    Here weights of gates are transposed: `input_weight` is (A, 4H), `recurrent` (H, 4H).
    """

    input_weight: Any
    recurrent: Any
    bias: Any
    hidden: Any
    hidden_bias: Any
    logits: Any
    logits_bias: Any


class History(NamedTuple):
    """What the backward pass needs of the forward pass of a block of streams."""

    gates: Any
    """(T, R, 4H)"""
    cell_tanh: Any
    """Of the cell after each step, (T, R, H)."""
    hidden: Any
    """Before each step, and after the last, (T + 1, R, H)."""
    cell: Any
    """As `hidden`."""


class Slopes(NamedTuple):
    """Arrays of the backward pass."""

    hidden: Any
    """Slopes by the hidden state, (R, H)."""
    cell: Any
    """As `hidden`."""
    gates: Any
    """Slopes by the gates of many steps, (K, 4H), that are not yet in the gradient."""
    befores: Any
    """The hidden states before those steps, (K, H)."""
    product: Any
    """Scratch, (H, 4H)."""
    used: Any
    """How many of `gates` are used, and how many have been added to the gradient, (2,)."""


class Reading(NamedTuple):
    """Arrays for reading the hidden states at slots."""

    losses: Any
    """At each slot, (S,)."""
    right: Any
    sure: Any
    state_slopes: Any
    """Slopes of the loss by the hidden states, (S, H)."""
    state: Any
    """Scratch, (H,)."""
    out: Any
    """Scratch, (M,)."""
    out_slope: Any
    logits: Any
    """Scratch, (C,)."""
    logits_slope: Any


@compile_native
def _order_streams(slots, time, stream, last, order, place):
    """Put the streams with the latest labels first.

    Fills `last`, when each stream has its last label, -1 if it has none; `order`, the streams in
    order; and `place`, where each stream is in it. All are (B,).
    """
    last[:] = -1
    for s in range(slots):
        last[stream[s]] = max(last[stream[s]], time[s])
    for b in range(len(order)):
        at = b
        while at > 0 and last[order[at - 1]] < last[b]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = b
    for at in range(len(order)):
        place[order[at]] = at


@compile_native
def _add_products(g, slopes):
    """Add to the gradient of the recurrent weights what the steps in `slopes` contribute."""
    filled, added = slopes.used
    steps = slopes.befores[:filled].T, slopes.gates[:filled]
    if added == 0:
        np.dot(steps[0], steps[1], g.recurrent)
    else:
        np.dot(steps[0], steps[1], slopes.product)
        total, product = g.recurrent.reshape(-1), slopes.product.reshape(-1)
        for i in range(len(total)):
            total[i] += product[i]
    slopes.used[:] = 0, added + filled


@compile_native
def _run_steps(recurrent, piece, first, streams, table, history, labelled):
    """Run a block of streams over a minibatch, from `history.hidden[0]` and `history.cell[0]`.

    **Arguments:**

    - `table`: what each symbol adds to the gates, (A, 4H).
    - `labelled`: whether there is a label; if not, `history` is not kept.

    **Returns:** where in `history` the last state is.
    """
    gates, _, hidden, cell = history
    rows, after = len(streams), 0
    for t in range(piece.truncation):
        before = after
        after = t + 1 if labelled else 1 - before
        if piece.clear:
            for r in range(rows):
                if piece.starts[first + t, streams[r]]:
                    hidden[before, r] = 0
                    cell[before, r] = 0
        np.dot(hidden[before, :rows], recurrent, gates[before, :rows])
        run_gates(history, table, piece.symbols, first + t, streams, before, after)
    return after


@compile_native
def _read_state(w, g, history, t, r, label, share, s, reading):
    """Read row `r` after step `t`, at slot `s`, and add the gradients of the layers that do."""
    state, out, out_slope, logits = reading.state, reading.out, reading.out_slope, reading.logits
    zero = state.dtype.type(0)
    # Computed anew: if a sequence starts at the next step, that has cleared `history.hidden`.
    H = len(state)
    for j in range(H):
        state[j] = history.gates[t, r, 3 * H + j] * history.cell_tanh[t, r, j]
    apply_layer(w.hidden, w.hidden_bias, state, out)
    for m in range(len(out)):
        out[m] = relu(out[m], zero)
    apply_layer(w.logits, w.logits_bias, out, logits)
    slope = reading.logits_slope
    reading.losses[s], reading.right[s], reading.sure[s] = judge(logits, label, share, slope)
    reverse_layer(w.logits, out, slope, g.logits, g.logits_bias, out_slope)
    for m in range(len(out)):
        if not out[m] > 0:
            out_slope[m] = 0
    reverse_layer(w.hidden, state, out_slope, g.hidden, g.hidden_bias, reading.state_slopes[s])


@compile_native
def _reverse_steps(w, g, piece, first, streams, last, history, slot_of, state_slopes, slopes):
    """Add the gradients of the LSTM over a minibatch of a block of streams.

    Only streams with a label take part, and only up to their last one. The gradient of the
    recurrent weights may be left in `slopes`.

    **Arguments:**

    - `last`: when each stream has its last label, (B,).
    - `state_slopes`: slopes by the hidden state at slots, (S, H).
    """
    H = slopes.hidden.shape[1]
    active = 0
    for t in range(last[streams[0]], -1, -1):
        while active < len(streams) and last[streams[active]] >= t:
            slopes.hidden[active] = 0
            slopes.cell[active] = 0
            active += 1
        if slopes.used[0] + active > len(slopes.gates):
            _add_products(g, slopes)
        begin = slopes.used[0]
        end = begin + active
        for r in range(active):
            s = slot_of[t, streams[r]]
            if s >= 0:
                for j in range(H):
                    slopes.hidden[r, j] += state_slopes[s, j]
        slope = slopes.gates[begin:end]
        reverse_gates(
            history.gates[t],
            history.cell_tanh[t],
            history.cell[t],
            slopes.hidden,
            slopes.cell,
            slope,
        )
        for r in range(active):
            drive = g.input_weight[piece.symbols[first + t, streams[r]]]
            for j in range(4 * H):
                drive[j] += slope[r, j]
            for j in range(H):
                slopes.befores[begin + r, j] = history.hidden[t, r, j]
        slopes.used[0] = end
        if t > 0:
            few = max(1, _SMALL_RESULT // H)
            for r in range(0, active, few):
                np.dot(slope[r : r + few], w.recurrent.T, slopes.hidden[r : min(r + few, active)])
            if piece.clear:
                for r in range(active):
                    if piece.starts[first + t, streams[r]]:
                        slopes.hidden[r] = 0
                        slopes.cell[r] = 0


@compile_native
def learn_lstm(w, g, adam, counts, piece, hidden, cell, count):
    """Learn from a piece of the streams, minibatch by minibatch, with an LSTM.

    **Arguments:**

    - `w`, `g`: `LSTMWeights` of weights and gradients, views of the vectors in `adam`.
    - `adam`, `counts`, `piece`: `Adam` and `Counts`, changed in place, and `Symbols`.
    - `hidden`, `cell`: the state, (B, H), changed in place.
    - `count`: updates so far.

    **Returns:** updates after it.
    """
    B, H = hidden.shape
    A = w.input_weight.shape[0]
    C, M = w.logits.shape
    T = piece.truncation
    parts = -(-T // piece.segment)
    most = parts * B
    small = max(1, _SMALL_PRODUCT // (4 * H * H))
    rows = min(small, _MOST_ROWS, max(_LEAST_ROWS, _BLOCK_UNITS // H))
    rows = -(-B // -(-B // rows))  # blocks of nearly one size
    dtype = hidden.dtype
    slot_of = np.full((T, B), -1, np.int32)
    found = np.empty((parts, B), np.int32)
    time, stream = np.empty(most, np.int32), np.empty(most, np.int32)
    last, order, place = np.full(B, -1, np.int32), np.arange(B), np.arange(B)
    table = np.empty((A, 4 * H), dtype)
    reading = Reading(
        np.empty(most, dtype),
        np.empty(most, np.bool_),
        np.empty(most, np.bool_),
        np.empty((most, H), dtype),
        np.empty(H, dtype),
        np.empty(M, dtype),
        np.empty(M, dtype),
        np.empty(C, dtype),
        np.empty(C, dtype),
    )
    history = History(
        np.empty((T, rows, 4 * H), dtype),
        np.empty((T, rows, H), dtype),
        np.empty((T + 1, rows, H), dtype),
        np.empty((T + 1, rows, H), dtype),
    )
    buffered = max(rows, small)
    slopes = Slopes(
        np.empty((rows, H), dtype),
        np.empty((rows, H), dtype),
        np.empty((buffered, 4 * H), dtype),
        np.empty((buffered, H), dtype),
        np.empty((H, 4 * H), dtype),
        np.zeros(2, np.int64),
    )
    pending = np.int64(0)  # for a plain 0 Numba would compile Adam a second time
    for first in range(0, piece.symbols.shape[0], T):
        if counts.updates[0] >= counts.limit:
            break
        slots = find_slots(piece, first, slot_of, found, time, stream)
        if slots > 0:
            # What labels are read with must be up to date.
            catch_up(adam, count, pending)
            _order_streams(slots, time, stream, last, order, place)
        share = hidden.dtype.type(1 / max(slots, 1))
        for a in range(A):
            row, weight = table[a], w.input_weight[a]
            for j in range(4 * H):
                row[j] = weight[j] + w.bias[j]
        for begin in range(0, B, rows):
            streams = order[begin : begin + rows]
            labelled = slots > 0 and last[streams[0]] >= 0
            for r in range(len(streams)):
                for j in range(H):
                    history.hidden[0, r, j] = hidden[streams[r], j]
                    history.cell[0, r, j] = cell[streams[r], j]
            end = _run_steps(w.recurrent, piece, first, streams, table, history, labelled)
            for r in range(len(streams)):
                for j in range(H):
                    hidden[streams[r], j] = history.hidden[end, r, j]
                    cell[streams[r], j] = history.cell[end, r, j]
            if labelled:
                for s in range(slots):
                    r = place[stream[s]] - begin
                    if 0 <= r < len(streams):
                        label = piece.labels[first + time[s], stream[s]]
                        _read_state(w, g, history, time[s], r, label, share, s, reading)
                _reverse_steps(
                    w,
                    g,
                    piece,
                    first,
                    streams,
                    last,
                    history,
                    slot_of,
                    reading.state_slopes,
                    slopes,
                )
        if slots > 0:
            _add_products(g, slopes)
            slopes.used[1] = 0
            # Every step puts the slope by its gates into that of one symbol.
            for a in range(A):
                for j in range(4 * H):
                    g.bias[j] += g.input_weight[a, j]
            count_results(counts, slots, reading.losses, reading.right, reading.sure)
        count += 1
        pending = update_weights(adam, count, pending, slots > 0)
        count_update(counts)
    finish_updates(adam, count, pending)
    return count
