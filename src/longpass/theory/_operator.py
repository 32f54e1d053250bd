"""The paper's own linear-operator view of the chain (its appendix G): matrices M and J.

The paper writes pools as a row, Y_t = (X_t + Y_{t-1}) M, with rates b^-n. M is the transpose of
our A (see `transition`). Adding the input to the *old* pools means that it enters pool 1 with
weight 1 - b^-1, where section 2 of the paper has b^-1: J is our impulse response times
(1 - b^-1) / b^-1, which is 1 for base 2 only.
"""

import numpy as np
from jaxtyping import Float

from longpass import _checks
from longpass._rates import rates
from longpass.theory._filters import transition


def diffusion_matrix(base: float, pools: int) -> Float[np.ndarray, "k k"]:
    """M[i, j] = (1 - b^-i) b^-(i+1) ... b^-j for i <= j, else 0: what moves where in one step.

    **Arguments:**

    - `base`: b.
    - `pools`: their number, k.

    **Returns:**

    M, of shape `(k, k)`.

    >>> diffusion_matrix(2.0, 2).tolist()
    [[0.5, 0.125], [0.0, 0.75]]
    """
    return transition(rates(base, pools))[0].T


def history_operator(base: float, length: int) -> Float[np.ndarray, "length length"]:
    """J, with Y_T = Z J for `length` pools and the inputs Z, newest first.

    Row t is the first row of M^(t+1). Entries of far pools fall below the smallest float64
    and are then 0.

    **Arguments:**

    - `base`: b.
    - `length`: of the history, and the number of pools.

    **Returns:**

    J, of shape `(length, length)`.

    >>> history_operator(2.0, 2).tolist()
    [[0.5, 0.125], [0.25, 0.15625]]
    """
    length = _checks.positive_int("length", length)
    M = diffusion_matrix(base, length)
    rows = np.empty((length, length))
    row = M[0]
    for t in range(length):
        rows[t] = row
        row = row @ M
    return rows
