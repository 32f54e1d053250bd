"""What can be read back: the past from pool contents, by least squares.

Pool contents are p = K x with K the impulse responses (k, length) and x the past, newest first.
There are fewer pools than moments, so most of the past is gone; what is left is its projection
onto the rows of K. `noise` says how exactly the contents are known: the standard deviation of
white noise on each pool, for inputs of deviation 1.
"""

import numpy as np
from jaxtyping import Float

from longpass import _checks
from longpass._rates import Rates
from longpass.theory._filters import Wiring, impulse_response


def reconstruct(
    contents: Float[np.ndarray, "k *channels"],
    rates: Rates,
    length: int,
    *,
    wiring: Wiring = "chain",
    noise: float = 0.0,
) -> Float[np.ndarray, "length *channels"]:
    """The least-squares estimate of the last `length` inputs, newest first, from pool contents.

    With `noise` 0 it is the smallest past that gives exactly these contents; else the posterior
    mean under white inputs of deviation 1. Inputs older than `length` are taken to be 0.

    **Arguments:**

    - `contents`: of the pools, of shape `(k, ...)`.
    - `rates`: of the pools, fastest first.
    - `length`: how many inputs to estimate.
    - `wiring`: `"chain"` or `"parallel"`.
    - `noise`: the standard deviation of noise on each pool.

    **Returns:**

    The estimate, of shape `(length, ...)`, newest input first.

    >>> rates = (0.5, 0.25, 0.125)
    >>> past = reconstruct(impulse_response(rates, 20)[:, 9], rates, 20)  # an input of 9 steps ago
    >>> int(past.argmax())
    9
    """
    responses = impulse_response(rates, length, wiring)
    contents = np.asarray(contents, dtype=np.float64)
    if contents.ndim == 0 or contents.shape[0] != responses.shape[0]:
        raise ValueError(
            f"contents has shape {contents.shape}: its first axis must be the "
            f"{responses.shape[0]} pools of rates"
        )
    left, gains, right, weights = _decompose(responses, noise)
    flat = contents.reshape(contents.shape[0], -1)
    past = right.T @ (weights[:, None] / gains[:, None] * (left.T @ flat))
    return past.reshape(length, *contents.shape[1:])


def memory_capacity(
    rates: Rates, length: int, *, wiring: Wiring = "chain", noise: float = 0.0
) -> Float[np.ndarray, " length"]:
    """How much of an input t steps ago a linear reader can recover, for t < `length`.

    Each entry is the squared correlation between white inputs and their best linear estimate
    (Jaeger's short-term memory capacity). The entries add up to at most the number of pools:
    pools cannot create memory, only place it.

    **Arguments:**

    - `rates`: of the pools, fastest first.
    - `length`: how many steps back.
    - `wiring`: `"chain"` or `"parallel"`.
    - `noise`: the standard deviation of noise on each pool.

    **Returns:**

    The capacities, of shape `(length,)`, newest input first.

    >>> float(memory_capacity((0.5, 0.25), 200).sum().round(3))
    2.0
    """
    _, _, right, weights = _decompose(impulse_response(rates, length, wiring), noise)
    return weights @ right**2


def _decompose(responses: np.ndarray, noise: float):
    """Singular vectors and values of the responses, and the share of each that noise leaves."""
    noise = _checks.real("noise", noise, least=0.0)
    left, gains, right = np.linalg.svd(responses, full_matrices=False)
    keep = gains > gains[0] * np.finfo(np.float64).eps * max(responses.shape)
    left, gains, right = left[:, keep], gains[keep], right[keep]
    return left, gains, right, gains**2 / (gains**2 + noise**2)
