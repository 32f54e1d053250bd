"""The gates of an LSTM in native code: one step of a block of streams, forward and backward.

In shapes: R streams of the block (rows), A symbols in the alphabet, H units. The 4H columns are
those of the gates that let in, keep, propose and let out.
"""

from longpass.streams._native_layers import tanh
from longpass.streams._numba import compile_native


@compile_native
def run_gates(z, table, symbols, streams, cell_before, cell, cell_tanh, hidden):
    """One step of a block: `z` (R, 4H), the recurrent part, is replaced by the gates."""
    rows, size = z.shape[0], cell.shape[1]
    half = z.dtype.type(0.5)
    for r in range(rows):
        gates, drive = z[r], table[symbols[streams[r]]]
        enter, forget = gates[:size], gates[size : 2 * size]
        candidate, leave = gates[2 * size : 3 * size], gates[3 * size :]
        for j in range(4 * size):
            gates[j] += drive[j]
        for j in range(size):
            enter[j] = half * tanh(half * enter[j]) + half
            forget[j] = half * tanh(half * forget[j]) + half
            candidate[j] = tanh(candidate[j])
            leave[j] = half * tanh(half * leave[j]) + half
        before, after, tanhs, h = cell_before[r], cell[r], cell_tanh[r], hidden[r]
        for j in range(size):
            after[j] = forget[j] * before[j] + enter[j] * candidate[j]
            tanhs[j] = tanh(after[j])
            h[j] = leave[j] * tanhs[j]


@compile_native
def reverse_gates(gates, cell_tanh, cell_before, hidden_slope, cell_slope, slope):
    """The slopes by the gates of one step, (rows, 4H), and by the cell before it."""
    rows, size = slope.shape[0], cell_slope.shape[1]
    one = slope.dtype.type(1)
    # Loops over few arrays each: compilers must see which of them may overlap.
    for r in range(rows):
        for j in range(size):
            t, o = cell_tanh[r, j], gates[r, 3 * size + j]
            slope[r, 3 * size + j] = t * o * (one - o) * hidden_slope[r, j]
    for r in range(rows):
        for j in range(size):
            t, o = cell_tanh[r, j], gates[r, 3 * size + j]
            cell_slope[r, j] += o * (one - t * t) * hidden_slope[r, j]
    for r in range(rows):
        for j in range(size):
            i, c = gates[r, j], gates[r, 2 * size + j]
            slope[r, j] = c * i * (one - i) * cell_slope[r, j]
    for r in range(rows):
        for j in range(size):
            i, c = gates[r, j], gates[r, 2 * size + j]
            slope[r, 2 * size + j] = i * (one - c * c) * cell_slope[r, j]
    for r in range(rows):
        for j in range(size):
            f = gates[r, size + j]
            slope[r, size + j] = cell_before[r, j] * f * (one - f) * cell_slope[r, j]
    for r in range(rows):
        for j in range(size):
            cell_slope[r, j] *= gates[r, size + j]
