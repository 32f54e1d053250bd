"""Adam in native code, with weights that wait while their gradient is 0."""

import math
from typing import Any, NamedTuple

import numpy as np

from longpass.streams._numba import compile_native

B1, B2 = 0.9, 0.999
# Smaller moments are set to 0: arithmetic with denormal numbers is slow.
TINY = 1e-30
_TINY_SQUARE = 1e-37


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
    tiny, tiny_square = weights.dtype.type(TINY), weights.dtype.type(_TINY_SQUARE)
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
def catch_up(adam, count, pending):
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
    tiny, tiny_square = weights.dtype.type(TINY), weights.dtype.type(_TINY_SQUARE)
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
def update_weights(adam, count, pending, learned):
    """Update number `count` of the weights.

    Those that only labels need are left alone if there was no label (not `learned`).

    **Returns:** how many updates they are now behind; before, they were `pending` behind.
    """
    if learned:
        _step_weights(adam, 0, len(adam.weights), count, True)
        return 0
    _step_weights(adam, 0, adam.eager, count, False)
    if pending + 1 < len(adam.alpha):
        return pending + 1
    catch_up(adam, count - pending - 1, pending + 1)
    return 0
