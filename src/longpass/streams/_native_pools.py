"""Learning with pools in native code.

Pools are run step by step, two operations per unit; the network is read only where labels are. In
shapes: T steps, B streams, S labels (slots), A symbols in the alphabet, C classes, k pools of size
D, V units of a viewport, M of the summariser.
"""

from typing import Any, NamedTuple

import numpy as np

from longpass.streams._native_adam import TINY, catch_up, finish_updates, update_weights
from longpass.streams._native_layers import apply_layer, relu, reverse_layer
from longpass.streams._native_results import count_results, count_update, find_slots, judge
from longpass.streams._numba import compile_native

# Units of pools that are run together: what the fastest cache holds.
_POOL_UNITS = 6000


class PoolWeights(NamedTuple):
    """Views of a vector: the arrays of a classifier with pools, in its order."""

    embedding: Any
    """(D, A) and its bias (D,); of size 0 if there is no embedding."""
    embedding_bias: Any
    write: Any
    input_viewport: Any
    viewports: Any
    viewport_bias: Any
    summariser: Any
    summary_bias: Any
    logits: Any
    logits_bias: Any


class Filters(NamedTuple):
    """What a pool keeps of itself at each step (1 - rate), and the factors of inputs."""

    keeps: Any
    gains: Any
    chained: bool


@compile_native
def _write_symbols(w, inputs, written):
    """What each symbol is to the memory, (A, input), and what it writes into pool 1, (A, D)."""
    embedded = w.embedding.size > 0
    for a in range(written.shape[0]):
        if embedded:
            for i in range(inputs.shape[1]):
                inputs[a, i] = w.embedding[i, a] + w.embedding_bias[i]
            for d in range(written.shape[1]):
                total = inputs.dtype.type(0)
                for i in range(inputs.shape[1]):
                    total += w.write[d, i] * inputs[a, i]
                written[a, d] = total
        else:
            for d in range(written.shape[1]):
                written[a, d] = w.write[d, a]


@compile_native
def _run_pools(piece, first, filters, state, written, drive, slot_of, contents):
    """Run all pools, (k, B * D), over a minibatch; keep those at slots in `contents` (S, k, D)."""
    length, batch = slot_of.shape
    k, size = state.shape[0], written.shape[1]
    together = max(1, _POOL_UNITS // (k * size))
    zero = written.dtype.type(0)
    for begin in range(0, batch, together):
        end = min(begin + together, batch)
        low, high = begin * size, end * size
        inputs = drive[low:high]
        for t in range(length):
            for b in range(begin, end):
                if piece.clear and piece.starts[first + t, b]:
                    state[:, b * size : (b + 1) * size] = zero
                row = written[piece.symbols[first + t, b]]
                into = drive[b * size : (b + 1) * size]
                for d in range(size):
                    into[d] = row[d]
            for n in range(k):
                gain, keep = filters.gains[n], filters.keeps[n]
                pool = state[n, low:high]
                if filters.chained and n > 0:
                    below = state[n - 1, low:high]
                    for i in range(len(pool)):
                        pool[i] = gain * below[i] + keep * pool[i]
                else:
                    for i in range(len(pool)):
                        pool[i] = gain * inputs[i] + keep * pool[i]
            for b in range(begin, end):
                s = slot_of[t, b]
                if s >= 0:
                    contents[s] = state[:, b * size : (b + 1) * size]


@compile_native
def _read_pools(w, contents, symbol, inputs, seen, out, logits):
    """Viewports, summariser and logits at one slot; `contents` are (k, D)."""
    k, V, D = w.viewports.shape
    zero = seen.dtype.type(0)
    for v in range(V):
        total = w.viewport_bias[v]
        if w.embedding.size > 0:
            for i in range(inputs.shape[1]):
                total += w.input_viewport[v, i] * inputs[symbol, i]
        else:
            total += w.input_viewport[v, symbol]
        seen[v] = relu(total, zero)
    for n in range(k):
        for v in range(V):
            total = w.viewport_bias[(n + 1) * V + v]
            for d in range(D):
                total += w.viewports[n, v, d] * contents[n, d]
            seen[(n + 1) * V + v] = relu(total, zero)
    apply_layer(w.summariser, w.summary_bias, seen, out)
    for m in range(len(out)):
        out[m] = relu(out[m], zero)
    apply_layer(w.logits, w.logits_bias, out, logits)


@compile_native
def _reverse_pools(w, g, contents, symbol, inputs, seen, out, slope, out_slope, seen_slope, first):
    """Add the gradients of `_read_pools`; `first` is set to the slope by pool 1.

    `seen_slope` is left with the slopes by the viewports.
    """
    k, V, D = w.viewports.shape
    reverse_layer(w.logits, out, slope, g.logits, g.logits_bias, out_slope)
    for m in range(len(out)):
        if not out[m] > 0:
            out_slope[m] = 0
    reverse_layer(w.summariser, seen, out_slope, g.summariser, g.summary_bias, seen_slope)
    first[:] = 0
    for i in range(len(seen)):
        if not seen[i] > 0:
            seen_slope[i] = 0
        g.viewport_bias[i] += seen_slope[i]
    for n in range(k):
        for v in range(V):
            s = seen_slope[(n + 1) * V + v]
            if s != 0:
                for d in range(D):
                    g.viewports[n, v, d] += s * contents[n, d]
                if n == 0:
                    for d in range(D):
                        first[d] += s * w.viewports[0, v, d]


@compile_native
def _reverse_input(w, g, symbol, inputs, seen_slope, input_slope):
    """Add the gradients of the input's viewport; `input_slope` (A, input) is added to."""
    for v in range(w.input_viewport.shape[0]):
        s = seen_slope[v]
        if s != 0:
            if w.embedding.size > 0:
                for i in range(inputs.shape[1]):
                    g.input_viewport[v, i] += s * inputs[symbol, i]
                    input_slope[symbol, i] += s * w.input_viewport[v, i]
            else:
                g.input_viewport[v, symbol] += s


@compile_native
def _reverse_first_pool(piece, first, t, b, keep, slope, written_slope, weight):
    """Add to the slopes by what symbols write: each of this minibatch is in pool 1 at a slot."""
    weight[:] = 0
    factor = weight.dtype.type(1)
    for at in range(first + t, first - 1, -1):
        weight[piece.symbols[at, b]] += factor
        factor *= keep
        if factor < TINY or (piece.clear and piece.starts[at, b]):
            break
    for a in range(len(weight)):
        if weight[a] != 0:
            for d in range(len(slope)):
                written_slope[a, d] += weight[a] * slope[d]


@compile_native
def _reverse_write(w, g, inputs, written_slope, input_slope):
    """Add the gradients of `_write_symbols`."""
    for a in range(written_slope.shape[0]):
        if w.embedding.size > 0:
            for d in range(written_slope.shape[1]):
                s = written_slope[a, d]
                for i in range(inputs.shape[1]):
                    g.write[d, i] += s * inputs[a, i]
                    input_slope[a, i] += s * w.write[d, i]
            for i in range(inputs.shape[1]):
                g.embedding[i, a] += input_slope[a, i]
                g.embedding_bias[i] += input_slope[a, i]
        else:
            for d in range(written_slope.shape[1]):
                g.write[d, a] += written_slope[a, d]


@compile_native
def learn_pools(w, g, adam, counts, piece, filters, state, count):
    """Learn from a piece of the streams, minibatch by minibatch, with pools.

    **Arguments:**

    - `w`, `g`: `PoolWeights` of weights and gradients, views of the vectors in `adam`.
    - `adam`, `counts`: `Adam` and `Counts`, changed in place.
    - `piece`: `Symbols`.
    - `filters`: `Filters`.
    - `state`: all pools, (k, B * D), changed in place.
    - `count`: updates so far.

    **Returns:** updates after it.
    """
    k, V, D = w.viewports.shape
    A = w.embedding.shape[1] if w.embedding.size > 0 else w.write.shape[1]
    C, M = w.logits.shape
    T, B = piece.truncation, piece.symbols.shape[1]
    parts = -(-T // piece.segment)
    most = parts * B
    dtype = state.dtype
    slot_of = np.full((T, B), -1, np.int32)
    found = np.empty((parts, B), np.int32)
    time, stream = np.empty(most, np.int32), np.empty(most, np.int32)
    losses, right, sure = np.empty(most, dtype), np.empty(most, np.bool_), np.empty(most, np.bool_)
    contents = np.empty((most, k, D), dtype)
    inputs, input_slope = (
        np.zeros((A, w.write.shape[1]), dtype),
        np.empty((A, w.write.shape[1]), dtype),
    )
    written, written_slope = np.empty((A, D), dtype), np.empty((A, D), dtype)
    drive, weight, first_slope = np.empty(B * D, dtype), np.empty(A, dtype), np.empty(D, dtype)
    seen, seen_slope = np.empty((k + 1) * V, dtype), np.empty((k + 1) * V, dtype)
    out, out_slope = np.empty(M, dtype), np.empty(M, dtype)
    logits, slope = np.empty(C, dtype), np.empty(C, dtype)
    pending = np.int64(0)  # for a plain 0 Numba would compile Adam a second time
    for first in range(0, piece.symbols.shape[0], T):
        if counts.updates[0] >= counts.limit:
            break
        slots = find_slots(piece, first, slot_of, found, time, stream)
        if slots > 0:
            # What labels are read with must be up to date.
            catch_up(adam, count, pending)
        _write_symbols(w, inputs, written)
        _run_pools(piece, first, filters, state, written, drive, slot_of, contents)
        if slots > 0:
            input_slope[:] = 0
            written_slope[:] = 0
            share = state.dtype.type(1 / slots)
            for s in range(slots):
                symbol = piece.symbols[first + time[s], stream[s]]
                label = piece.labels[first + time[s], stream[s]]
                _read_pools(w, contents[s], symbol, inputs, seen, out, logits)
                losses[s], right[s], sure[s] = judge(logits, label, share, slope)
                _reverse_pools(
                    w,
                    g,
                    contents[s],
                    symbol,
                    inputs,
                    seen,
                    out,
                    slope,
                    out_slope,
                    seen_slope,
                    first_slope,
                )
                _reverse_input(w, g, symbol, inputs, seen_slope, input_slope)
                _reverse_first_pool(
                    piece,
                    first,
                    time[s],
                    stream[s],
                    filters.keeps[0],
                    first_slope,
                    written_slope,
                    weight,
                )
            _reverse_write(w, g, inputs, written_slope, input_slope)
            count_results(counts, slots, losses, right, sure)
        count += 1
        pending = update_weights(adam, count, pending, slots > 0)
        count_update(counts)
    finish_updates(adam, count, pending)
    return count
