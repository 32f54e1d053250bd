"""Adam in native code.

Most small minibatches have no label, so no gradient: both moments then only decay, by the same
factors for all weights. They are left as they are until the next label, `pending` updates later,
and so are weights that only labels need.
"""

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
    """0 between updates."""
    mu: Any
    nu: Any
    roots: Any
    """Square roots of `nu`."""
    alpha: Any
    """Scratch, as long as the most updates that may be pending."""
    beta: Any
    totals: Any
    """Scratch, as long as the weights that are caught up at once."""
    learning_rate: float
    epsilon: float
    eager: int
    """Weights before this one are needed in every minibatch; the others only where labels are."""


@compile_native
def _scale_update(adam, count, decays):
    """How much of the moments to use in update `count`, if they have yet to decay `decays` times.

    **Returns:** (alpha, beta): the update takes alpha m / (beta sqrt(v) + epsilon) off a weight.
    """
    alpha = adam.learning_rate * B1**decays / (1 - B1**count)
    beta = math.sqrt(B2**decays / (1 - B2**count))
    return adam.weights.dtype.type(alpha), adam.weights.dtype.type(beta)


@compile_native
def _step_weights(adam, end, count, decays):
    """Update `count` of the weights before `end`, by moments that have yet to decay."""
    weights, mu, roots = adam.weights[:end], adam.mu[:end], adam.roots[:end]
    alpha, beta = _scale_update(adam, count, decays)
    epsilon = weights.dtype.type(adam.epsilon)
    for i in range(end):
        weights[i] -= alpha * mu[i] / (roots[i] * beta + epsilon)


@compile_native
def _settle_moments(adam, decays):
    """Let the moments decay, and move the gradient into them."""
    gradient, mu, nu, roots = adam.gradient, adam.mu, adam.nu, adam.roots
    keep1, keep2 = mu.dtype.type(B1**decays), mu.dtype.type(B2**decays)
    rest1, rest2 = mu.dtype.type(1 - B1), mu.dtype.type(1 - B2)
    tiny, tiny_square = mu.dtype.type(TINY), mu.dtype.type(_TINY_SQUARE)
    zero = mu.dtype.type(0)
    for i in range(len(mu)):
        m = keep1 * mu[i] + rest1 * gradient[i]
        v = keep2 * nu[i] + rest2 * (gradient[i] * gradient[i])
        m = zero if abs(m) < tiny else m
        v = zero if v < tiny_square else v
        mu[i] = m
        nu[i] = v
        roots[i] = np.sqrt(v)
        gradient[i] = zero


@compile_native
def catch_up(adam, count, pending):
    """Make up for `pending` updates of the lazy weights, of `count` in all. Moments stay."""
    if pending == 0:
        return
    for j in range(pending):
        adam.alpha[j], adam.beta[j] = _scale_update(adam, count - pending + j + 1, j + 1)
    epsilon = adam.weights.dtype.type(adam.epsilon)
    for begin in range(adam.eager, len(adam.weights), len(adam.totals)):
        end = min(begin + len(adam.totals), len(adam.weights))
        weights, mu, roots = adam.weights[begin:end], adam.mu[begin:end], adam.roots[begin:end]
        totals = adam.totals[: end - begin]
        totals[:] = 0
        for j in range(pending):
            alpha, beta = adam.alpha[j], adam.beta[j]
            for i in range(len(totals)):
                totals[i] += alpha / (roots[i] * beta + epsilon)
        for i in range(len(totals)):
            weights[i] -= mu[i] * totals[i]


@compile_native
def finish_updates(adam, count, pending):
    """Bring everything up to date, `pending` updates without a label after the last."""
    catch_up(adam, count, pending)
    if pending > 0:
        _settle_moments(adam, pending)


@compile_native
def update_weights(adam, count, pending, learned):
    """Update number `count` of the weights.

    Those that only labels need are left alone if there was no label (not `learned`). If there was,
    they have been caught up.

    **Returns:** how many updates are now pending; before, `pending` were.
    """
    pending += 1
    if learned:
        _settle_moments(adam, pending)
        _step_weights(adam, len(adam.weights), count, 0)
        return 0
    _step_weights(adam, adam.eager, count, pending)
    if pending < len(adam.alpha):
        return pending
    finish_updates(adam, count, pending)
    return 0
