"""The learner of `_update.py` as functions that Numba compiles once, for networks of any size.

One run, step by step, with gradients by hand. What makes it fast beside that nothing is compiled
per shape: pools take 2 operations per unit and step; a minibatch without labels costs no backward
pass, and only the streams that have a label take part in one; and while the gradient is 0, weights
that nothing reads are left alone (`_catch_up`).

All compiled functions that call each other are in this one file, see `compile_native`.

In shapes: T steps, B streams, S labels (slots), A symbols in the alphabet, C classes, k pools of
size D, V units of a viewport, M of the hidden layer, H of the LSTM.
"""

import inspect
import math
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from longpass.streams._numba import ARITHMETIC, compile_native
from longpass.streams._tally import CRITERION_ERROR, CRITERION_LENGTH, SMOOTHING

B1, B2 = 0.9, 0.999  # of Adam
# Smaller numbers are set to 0: arithmetic with denormal numbers is slow.
_TINY = 1e-30
_TINY_SQUARE = 1e-37
# Products of an LSTM have as many rows as give at most this many multiplications: OpenBLAS has a
# faster way for those. No more than `_MOST_ROWS` streams are run together.
_SMALL_PRODUCT = 1_000_000
_MOST_ROWS = 64
# Units of pools that are run together: what the fastest cache holds.
_POOL_UNITS = 6000


class Adam(NamedTuple):
    """All weights as one vector, and what the optimiser knows of each."""

    weights: Any
    gradient: Any
    mu: Any
    nu: Any
    alpha: Any
    """Scratch, as long as the most updates that are caught up at once."""
    beta: Any
    scratch: Any
    learning_rate: float
    epsilon: float
    eager: int
    """Weights before this one are needed in every minibatch; the others only where labels are."""


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


class Symbols(NamedTuple):
    """A piece of all streams, (steps, B), and how it is cut into minibatches."""

    symbols: Any
    labels: Any
    starts: Any
    clear: bool
    truncation: int
    segment: int
    """Steps in which a stream has at most one label."""


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


class Filters(NamedTuple):
    """What a pool keeps of itself at each step (1 - rate), and the factors of inputs."""

    keeps: Any
    gains: Any
    chained: bool


def _tanh(x):
    """The hyperbolic tangent; overloaded below."""
    return math.tanh(x)


@overload(_tanh, jit_options=ARITHMETIC)  # pyright: ignore[reportArgumentType]
def _compile_tanh(x):
    if x != types.float32:
        return lambda x: math.tanh(x)

    def rational(x):
        # A quotient of polynomials, as XLA and Eigen have it: vector units compute it, and in
        # single precision it is right to a few units in the last place.
        x = min(max(x, np.float32(-7.90531110763549805)), np.float32(7.90531110763549805))
        s = x * x
        p = np.float32(-2.76076847742355e-16)
        p = p * s + np.float32(2.00018790482477e-13)
        p = p * s + np.float32(-8.60467152213735e-11)
        p = p * s + np.float32(5.12229709037114e-08)
        p = p * s + np.float32(1.48572235717979e-05)
        p = p * s + np.float32(6.37261928875436e-04)
        p = p * s + np.float32(4.89352455891786e-03)
        q = np.float32(1.19825839466702e-06)
        q = q * s + np.float32(1.18534705686654e-04)
        q = q * s + np.float32(2.26843463243900e-03)
        q = q * s + np.float32(4.89352518554385e-03)
        return x * p / q

    return inspect.unwrap(rational)


@compile_native
def _relu(x, zero):
    """ReLU. What is not a number stays that, so that divergence is seen."""
    return zero if x <= zero else x


@compile_native
def _find_slots(piece, first, slot_of, found, time, stream):
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
def _corrections(count):
    """1 - B1^count and 1 - B2^count."""
    return 1 - B1**count, 1 - B2**count


@compile_native
def _step_weights(adam, low, high, count, learned):
    """Update number `count` of Adam of the weights from `low` to `high`.

    The gradient is taken to be 0 if not `learned`.
    """
    weights, gradient = adam.weights[low:high], adam.gradient[low:high]
    mu, nu = adam.mu[low:high], adam.nu[low:high]
    epsilon = weights.dtype.type(adam.epsilon)
    first, second = _corrections(count)
    scale = weights.dtype.type(adam.learning_rate / first)
    root = weights.dtype.type(1 / math.sqrt(second))
    b1, b2 = weights.dtype.type(B1), weights.dtype.type(B2)
    rest1, rest2 = weights.dtype.type(1 - B1), weights.dtype.type(1 - B2)
    tiny, tiny_square = weights.dtype.type(_TINY), weights.dtype.type(_TINY_SQUARE)
    zero = weights.dtype.type(0)
    if learned:
        for i in range(len(weights)):
            m = b1 * mu[i] + rest1 * gradient[i]
            v = b2 * nu[i] + rest2 * (gradient[i] * gradient[i])
            m = zero if abs(m) < tiny else m
            v = zero if v < tiny_square else v
            mu[i] = m
            nu[i] = v
            weights[i] -= scale * m / (np.sqrt(v) * root + epsilon)
    else:
        for i in range(len(weights)):
            m = b1 * mu[i]
            v = b2 * nu[i]
            m = zero if abs(m) < tiny else m
            v = zero if v < tiny_square else v
            mu[i] = m
            nu[i] = v
            weights[i] -= scale * m / (np.sqrt(v) * root + epsilon)


@compile_native
def _catch_up(adam, count, pending):
    """Make up for `pending` updates of the lazy weights with a gradient of 0, after `count`.

    In them both moments only decay, so the j-th changes a weight by
    lr m B1^j / (1 - B1^(count + j)) / (sqrt(v B2^j / (1 - B2^(count + j))) + epsilon):
    the square root is taken once for all.
    """
    if pending == 0:
        return
    weights, mu, nu = adam.weights, adam.mu, adam.nu
    epsilon = weights.dtype.type(adam.epsilon)
    for j in range(pending):
        first, second = _corrections(count + j + 1)
        adam.alpha[j] = adam.learning_rate * B1 ** (j + 1) / first
        adam.beta[j] = math.sqrt(B2 ** (j + 1) / second)
    keep1, keep2 = weights.dtype.type(B1**pending), weights.dtype.type(B2**pending)
    tiny, tiny_square = weights.dtype.type(_TINY), weights.dtype.type(_TINY_SQUARE)
    zero = weights.dtype.type(0)
    for begin in range(adam.eager, len(weights), adam.scratch.shape[1]):
        end = min(begin + adam.scratch.shape[1], len(weights))
        ws, ms, vs = weights[begin:end], mu[begin:end], nu[begin:end]
        roots, totals = adam.scratch[0, : end - begin], adam.scratch[1, : end - begin]
        for i in range(len(ws)):
            roots[i] = np.sqrt(vs[i])
            totals[i] = zero
        for j in range(pending):
            alpha, beta = adam.alpha[j], adam.beta[j]
            for i in range(len(ws)):
                totals[i] += alpha / (roots[i] * beta + epsilon)
        for i in range(len(ws)):
            m, v = ms[i], vs[i]
            ws[i] -= m * totals[i]
            m, v = keep1 * m, keep2 * v
            ms[i] = zero if abs(m) < tiny else m
            vs[i] = zero if v < tiny_square else v


@compile_native
def _finish_minibatch(adam, counts, count, pending, learned):
    """Update the weights for the `count`-th time, and the tally.

    **Returns:** how many updates the lazy weights are now behind.
    """
    if learned:
        _step_weights(adam, 0, len(adam.weights), count, True)
    else:
        _step_weights(adam, 0, adam.eager, count, False)
        pending += 1
        if pending == len(adam.alpha):
            _catch_up(adam, count - pending, pending)
            pending = 0
    counts.updates[0] += 1
    # In the type of the curve, as the compiled program has it: it rounds in the same way.
    curve = counts.curve
    part = curve.dtype.type(counts.updates[0]) / curve.dtype.type(counts.limit)
    position = part * curve.dtype.type(len(curve))
    curve[max(math.ceil(position) - 1, 0)] = counts.smoothed[0]
    return pending


@compile_native
def _judge(logits, label, share, slope):
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
def _count_result(counts, right, sure):
    """Count one sequence."""
    counts.sequences[0] += 1
    counts.smoothed[0] = SMOOTHING * counts.smoothed[0] + (1 - SMOOTHING) * right
    if right and counts.sequences[0] <= counts.counted:
        counts.right[0] += 1
    counts.streak[0] = counts.streak[0] + 1 if sure else 0
    if counts.streak[0] >= CRITERION_LENGTH and counts.criterion[0] < 0:
        counts.criterion[0] = counts.sequences[0]


@compile_native
def _count_results(counts, slots, losses, right, sure):
    """Count the results of a minibatch in the order of its slots."""
    total = losses.dtype.type(0)
    for s in range(slots):
        total += losses[s]
        _count_result(counts, right[s], sure[s])
    if not math.isfinite(total) and counts.diverged[0] < 0:
        counts.diverged[0] = counts.updates[0]


@compile_native
def _apply_layer(weight, bias, inputs, outputs):
    """`outputs` = `weight` @ `inputs` + `bias`."""
    for m in range(weight.shape[0]):
        total = bias[m]
        for i in range(weight.shape[1]):
            total += weight[m, i] * inputs[i]
        outputs[m] = total


@compile_native
def _reverse_layer(weight, inputs, slope, weight_slope, bias_slope, input_slope):
    """Add the gradients of a layer, given the slope by its outputs; `input_slope` is set."""
    input_slope[:] = 0
    for m in range(weight.shape[0]):
        s = slope[m]
        if s != 0:
            bias_slope[m] += s
            for i in range(weight.shape[1]):
                weight_slope[m, i] += s * inputs[i]
                input_slope[i] += s * weight[m, i]


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
        seen[v] = _relu(total, zero)
    for n in range(k):
        for v in range(V):
            total = w.viewport_bias[(n + 1) * V + v]
            for d in range(D):
                total += w.viewports[n, v, d] * contents[n, d]
            seen[(n + 1) * V + v] = _relu(total, zero)
    _apply_layer(w.summariser, w.summary_bias, seen, out)
    for m in range(len(out)):
        out[m] = _relu(out[m], zero)
    _apply_layer(w.logits, w.logits_bias, out, logits)


@compile_native
def _reverse_pools(w, g, contents, symbol, inputs, seen, out, slope, out_slope, seen_slope, first):
    """Add the gradients of `_read_pools`; `first` is set to the slope by pool 1.

    `seen_slope` is left with the slopes by the viewports.
    """
    k, V, D = w.viewports.shape
    _reverse_layer(w.logits, out, slope, g.logits, g.logits_bias, out_slope)
    for m in range(len(out)):
        if not out[m] > 0:
            out_slope[m] = 0
    _reverse_layer(w.summariser, seen, out_slope, g.summariser, g.summary_bias, seen_slope)
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
        if factor < _TINY or (piece.clear and piece.starts[at, b]):
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
    pending = 0
    for first in range(0, piece.symbols.shape[0], T):
        if counts.updates[0] >= counts.limit:
            break
        slots = _find_slots(piece, first, slot_of, found, time, stream)
        if slots > 0:
            # What labels are read with must be up to date.
            _catch_up(adam, count - pending, pending)
            pending = 0
        _write_symbols(w, inputs, written)
        _run_pools(piece, first, filters, state, written, drive, slot_of, contents)
        if slots > 0:
            adam.gradient[:] = 0
            input_slope[:] = 0
            written_slope[:] = 0
            share = state.dtype.type(1 / slots)
            for s in range(slots):
                symbol = piece.symbols[first + time[s], stream[s]]
                label = piece.labels[first + time[s], stream[s]]
                _read_pools(w, contents[s], symbol, inputs, seen, out, logits)
                losses[s], right[s], sure[s] = _judge(logits, label, share, slope)
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
            _count_results(counts, slots, losses, right, sure)
        count += 1
        pending = _finish_minibatch(adam, counts, count, pending, slots > 0)
    _catch_up(adam, count - pending, pending)
    return count


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
            enter[j] = half * _tanh(half * enter[j]) + half
            forget[j] = half * _tanh(half * forget[j]) + half
            candidate[j] = _tanh(candidate[j])
            leave[j] = half * _tanh(half * leave[j]) + half
        h, c, tanhs = hidden[r], cell[r], cell_tanh[r]
        for j in range(size):
            c[j] = forget[j] * c[j] + enter[j] * candidate[j]
            tanhs[j] = _tanh(c[j])
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
        slots = _find_slots(piece, first, slot_of, found, time, stream)
        if slots > 0:
            # What labels are read with must be up to date.
            _catch_up(adam, count - pending, pending)
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
                        _apply_layer(w.hidden, w.hidden_bias, states[s], out)
                        for m in range(M):
                            out[m] = _relu(out[m], zero)
                        _apply_layer(w.logits, w.logits_bias, out, logits)
                        losses[s], right[s], sure[s] = _judge(logits, label, share, slope)
                        _reverse_layer(w.logits, out, slope, g.logits, g.logits_bias, out_slope)
                        for m in range(M):
                            if not out[m] > 0:
                                out_slope[m] = 0
                        _reverse_layer(
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
            _count_results(counts, slots, losses, right, sure)
        count += 1
        pending = _finish_minibatch(adam, counts, count, pending, slots > 0)
    _catch_up(adam, count - pending, pending)
    return count
