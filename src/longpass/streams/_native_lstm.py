"""Learning with an LSTM in native code.

Only streams with a label have a backward pass, up to their last label. In shapes: T steps, B
streams, S labels (slots), A symbols in the alphabet, C classes, H units of the LSTM, M of the layer
that reads it.
"""

from typing import Any, NamedTuple

import numpy as np

from longpass.streams._native_adam import catch_up, update_weights
from longpass.streams._native_layers import apply_layer, relu, reverse_layer, tanh
from longpass.streams._native_results import count_results, count_update, find_slots, judge
from longpass.streams._numba import compile_native

# Products have as many rows as give at most this many multiplications: OpenBLAS has a faster way
# for those. No more than `_MOST_ROWS` streams are run together.
_SMALL_PRODUCT = 1_000_000
_MOST_ROWS = 64


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


@compile_native
def _run_gates(z, table, symbols, hidden, cell, cell_tanh):
    """One step of an LSTM: `z` (rows, 4H), the recurrent part, is replaced by the gates."""
    rows, size = hidden.shape
    half = z.dtype.type(0.5)
    for r in range(rows):
        gates, drive = z[r], table[symbols[r]]
        enter, forget = gates[:size], gates[size : 2 * size]
        candidate, leave = gates[2 * size : 3 * size], gates[3 * size :]
        for j in range(4 * size):
            gates[j] += drive[j]
        for j in range(size):
            enter[j] = half * tanh(half * enter[j]) + half
            forget[j] = half * tanh(half * forget[j]) + half
            candidate[j] = tanh(candidate[j])
            leave[j] = half * tanh(half * leave[j]) + half
        h, c, tanhs = hidden[r], cell[r], cell_tanh[r]
        for j in range(size):
            c[j] = forget[j] * c[j] + enter[j] * candidate[j]
            tanhs[j] = tanh(c[j])
            h[j] = leave[j] * tanhs[j]


@compile_native
def _reverse_gates(gates, cell_tanh, cell_before, hidden_slope, cell_slope, slope):
    """The slopes of one row by its gates, (4H,), and by its cell before the step."""
    size = len(cell_tanh)
    one = slope.dtype.type(1)
    enter, forget = gates[:size], gates[size : 2 * size]
    candidate, leave = gates[2 * size : 3 * size], gates[3 * size :]
    by_enter, by_forget = slope[:size], slope[size : 2 * size]
    by_candidate, by_leave = slope[2 * size : 3 * size], slope[3 * size :]
    # Loops over few arrays each: compilers must see which of them may overlap.
    for j in range(size):
        t, o = cell_tanh[j], leave[j]
        by_leave[j] = t * o * (one - o) * hidden_slope[j]
    for j in range(size):
        t = cell_tanh[j]
        cell_slope[j] += leave[j] * (one - t * t) * hidden_slope[j]
    for j in range(size):
        i = enter[j]
        by_enter[j] = candidate[j] * i * (one - i) * cell_slope[j]
    for j in range(size):
        c = candidate[j]
        by_candidate[j] = enter[j] * (one - c * c) * cell_slope[j]
    for j in range(size):
        f = forget[j]
        by_forget[j] = cell_before[j] * f * (one - f) * cell_slope[j]
    for j in range(size):
        cell_slope[j] *= forget[j]


@compile_native
def _reverse_steps(back, g, piece, first, begin, rows, history, slot_of, hidden_slope, scratch):
    """Add the gradients of the LSTM over a minibatch of the streams from `begin`.

    Only streams with a label take part, and only up to their last one.

    **Arguments:**

    - `back`: the recurrent weights as (4H, H).
    - `history`: gates (T, rows, 4H), tanh of the cell, cell before and hidden state before each
      step, (T, rows, H).
    - `hidden_slope`: slopes by the hidden state at slots, (S, H).
    - `scratch`: arrays, see `learn_lstm`.
    """
    gates, cell_tanh, cell_before, hidden_before = history
    order, last, dh, dc, slopes, befores, product = scratch
    T = slot_of.shape[0]
    # Streams with a label, the one with the latest label first.
    active = 0
    for t in range(T - 1, -1, -1):
        for r in range(rows):
            if slot_of[t, begin + r] >= 0:
                new = True
                for q in range(active):
                    new = new and order[q] != r
                if new:
                    order[active] = r
                    last[active] = t
                    active += 1
    if active == 0:
        return
    dh[:active] = 0
    dc[:active] = 0
    filled, taking_part = 0, 0
    for t in range(last[0], -1, -1):
        while taking_part < active and last[taking_part] >= t:
            taking_part += 1
        for q in range(taking_part):
            r = order[q]
            b = begin + r
            s = slot_of[t, b]
            if s >= 0:
                dh[q] += hidden_slope[s]
            slope = slopes[filled + q]
            _reverse_gates(gates[t, r], cell_tanh[t, r], cell_before[t, r], dh[q], dc[q], slope)
            befores[filled + q] = hidden_before[t, r]
            drive = g.input_weight[piece.symbols[first + t, b]]
            for j in range(len(slope)):
                drive[j] += slope[j]
        if t > 0:
            np.dot(slopes[filled : filled + taking_part], back, dh[:taking_part])
            if piece.clear:
                for q in range(taking_part):
                    if piece.starts[first + t, begin + order[q]]:
                        dh[q] = 0
                        dc[q] = 0
        filled += taking_part
        if t == 0 or filled + len(order) > len(slopes):
            np.dot(befores[:filled].T, slopes[:filled], product)
            g.recurrent[:] += product
            filled = 0


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
    rows = min(_MOST_ROWS, small)
    rows = -(-B // -(-B // rows))  # blocks of nearly one size
    dtype = hidden.dtype
    zero = hidden.dtype.type(0)
    slot_of = np.full((T, B), -1, np.int32)
    found = np.empty((parts, B), np.int32)
    time, stream = np.empty(most, np.int32), np.empty(most, np.int32)
    losses, right, sure = np.empty(most, dtype), np.empty(most, np.bool_), np.empty(most, np.bool_)
    states, state_slopes = np.empty((most, H), dtype), np.empty((most, H), dtype)
    table, back = np.empty((A, 4 * H), dtype), np.empty((4 * H, H), dtype)
    out, out_slope = np.empty(M, dtype), np.empty(M, dtype)
    logits, slope = np.empty(C, dtype), np.empty(C, dtype)
    history = (
        np.empty((T, rows, 4 * H), dtype),
        np.empty((T, rows, H), dtype),
        np.empty((T, rows, H), dtype),
        np.empty((T, rows, H), dtype),
    )
    gates, cell_tanh, cell_before, hidden_before = history
    products = max(rows, small)
    scratch = (
        np.empty(rows, np.int32),
        np.empty(rows, np.int32),
        np.empty((rows, H), dtype),
        np.empty((rows, H), dtype),
        np.empty((products, 4 * H), dtype),
        np.empty((products, H), dtype),
        np.empty((H, 4 * H), dtype),
    )
    pending = 0
    for first in range(0, piece.symbols.shape[0], T):
        if counts.updates[0] >= counts.limit:
            break
        slots = find_slots(piece, first, slot_of, found, time, stream)
        if slots > 0:
            # What labels are read with must be up to date.
            catch_up(adam, count - pending, pending)
            pending = 0
            adam.gradient[:] = 0
            back[:] = w.recurrent.T
        share = hidden.dtype.type(1 / max(slots, 1))
        for a in range(A):
            row, weight = table[a], w.input_weight[a]
            for j in range(4 * H):
                row[j] = weight[j] + w.bias[j]
        for begin in range(0, B, rows):
            end = min(begin + rows, B)
            labelled = False
            for s in range(slots):
                labelled = labelled or begin <= stream[s] < end
            h, c = hidden[begin:end], cell[begin:end]
            for t in range(T):
                at = t if labelled else 0
                if piece.clear:
                    for b in range(begin, end):
                        if piece.starts[first + t, b]:
                            hidden[b] = zero
                            cell[b] = zero
                if labelled:
                    hidden_before[at, : end - begin] = h
                    cell_before[at, : end - begin] = c
                z = gates[at, : end - begin]
                np.dot(h, w.recurrent, z)
                _run_gates(z, table, piece.symbols[first + t, begin:end], h, c, cell_tanh[at])
                if labelled:
                    for b in range(begin, end):
                        if slot_of[t, b] >= 0:
                            states[slot_of[t, b]] = hidden[b]
            if labelled:
                for s in range(slots):
                    if begin <= stream[s] < end:
                        label = piece.labels[first + time[s], stream[s]]
                        apply_layer(w.hidden, w.hidden_bias, states[s], out)
                        for m in range(M):
                            out[m] = relu(out[m], zero)
                        apply_layer(w.logits, w.logits_bias, out, logits)
                        losses[s], right[s], sure[s] = judge(logits, label, share, slope)
                        reverse_layer(w.logits, out, slope, g.logits, g.logits_bias, out_slope)
                        for m in range(M):
                            if not out[m] > 0:
                                out_slope[m] = 0
                        reverse_layer(
                            w.hidden, states[s], out_slope, g.hidden, g.hidden_bias, state_slopes[s]
                        )
                _reverse_steps(
                    back,
                    g,
                    piece,
                    first,
                    begin,
                    end - begin,
                    history,
                    slot_of,
                    state_slopes,
                    scratch,
                )
        if slots > 0:
            # Every step puts the slope by its gates into that of one symbol.
            for a in range(A):
                for j in range(4 * H):
                    g.bias[j] += g.input_weight[a, j]
            count_results(counts, slots, losses, right, sure)
        count += 1
        pending = update_weights(adam, count, pending, slots > 0)
        count_update(counts)
    catch_up(adam, count - pending, pending)
    return count
