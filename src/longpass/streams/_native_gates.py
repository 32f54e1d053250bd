"""The gates of an LSTM in native code: one step of a block of streams, forward and backward.

In shapes: R streams of the block (rows), A symbols in the alphabet, H units. The 4H columns are
those of the gates that let in, keep, propose and let out.
"""

from longpass.streams._native_layers import sigmoid, tanh
from longpass.streams._numba import compile_native


@compile_native
def run_gates(history, table, symbols, at, streams, before, after):
    """One step of a block: the recurrent part in `history.gates` is replaced by the gates."""
    gates, cell_tanh, hidden, cell = history
    rows, size = len(streams), hidden.shape[2]
    for r in range(rows):
        symbol = symbols[at, streams[r]]
        for j in range(4 * size):
            gates[before, r, j] += table[symbol, j]
    for r in range(rows):
        for j in range(2 * size):
            gates[before, r, j] = sigmoid(gates[before, r, j])
    for r in range(rows):
        for j in range(size):
            gates[before, r, 2 * size + j] = tanh(gates[before, r, 2 * size + j])
    for r in range(rows):
        for j in range(size):
            gates[before, r, 3 * size + j] = sigmoid(gates[before, r, 3 * size + j])
    for r in range(rows):
        for j in range(size):
            cell[after, r, j] = (
                gates[before, r, size + j] * cell[before, r, j]
                + gates[before, r, j] * gates[before, r, 2 * size + j]
            )
    for r in range(rows):
        for j in range(size):
            cell_tanh[before, r, j] = tanh(cell[after, r, j])
    for r in range(rows):
        for j in range(size):
            hidden[after, r, j] = gates[before, r, 3 * size + j] * cell_tanh[before, r, j]


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
