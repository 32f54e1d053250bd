"""Impulse tables: what pools p_t = A p_{t-1} + c h_t hold after several steps, as one matrix."""

import functools
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from longpass.theory import Wiring, transition


class Pools(NamedTuple):
    """Linear pools: their rates, how they are fed, and the factor of what feeds them."""

    rates: tuple[float, ...]
    wiring: Wiring
    scale: float
    """Inputs are multiplied by it. 1 / a_1 if a learned matrix takes the place of a_1."""


def make_matrices(pools: Pools) -> tuple[np.ndarray, np.ndarray]:
    """(A, c) of p_t = A p_{t-1} + c h_t, of shapes (k, k) and (k,), in double precision."""
    A, c = transition(pools.rates, pools.wiring)
    return A, pools.scale * c


@functools.lru_cache(maxsize=256)
def make_table(pools: Pools, steps: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """What the k pools hold at each of n steps.

    **Returns:**

    A matrix of shape `(k n, k + n)`, pool by pool: times the k pools before the first step and the
    n inputs, it is the pools at every step.
    """
    A, c = make_matrices(pools)
    k = len(c)
    table = np.zeros((k, steps, k + steps))
    power = np.eye(k)
    for t in range(steps):
        for s in range(steps - t):
            table[:, s + t, k + s] = power @ c
        table[:, t, :k] = power = A @ power
    # A table that was made for inference must also do for training.
    with torch.inference_mode(False):
        return torch.tensor(table.reshape(k * steps, -1), dtype=dtype, device=device)
