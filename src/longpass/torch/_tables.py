"""Impulse tables: what pools hold as a product with earlier pools and inputs, p_t = A p_{t-1} + c h_t."""

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


class Table(NamedTuple):
    """The pools at each of n steps, pool by pool, from what entered the first step and n inputs."""

    powers: Tensor
    """Of shape (k n, k): times the k pools before the first step."""
    responses: Tensor
    """Of shape (k n, n): times the n inputs."""


def make_matrices(pools: Pools) -> tuple[np.ndarray, np.ndarray]:
    """(A, c) of p_t = A p_{t-1} + c h_t, of shapes (k, k) and (k,), in double precision."""
    A, c = transition(pools.rates, pools.wiring)
    return A, pools.scale * c


@functools.lru_cache(maxsize=256)
def make_table(pools: Pools, steps: int, dtype: torch.dtype, device: torch.device) -> Table:
    """The table of `steps` steps."""
    A, c = make_matrices(pools)
    k = len(c)
    powers, responses = np.zeros((k, steps, k)), np.zeros((k, steps, steps))
    power = np.eye(k)
    for t in range(steps):
        for s in range(steps - t):
            responses[:, s + t, s] = power @ c
        powers[:, t] = power = A @ power
    # A table that was made for inference must also do for training.
    with torch.inference_mode(False):
        return Table(
            *(
                torch.tensor(array.reshape(k * steps, -1), dtype=dtype, device=device)
                for array in (powers, responses)
            )
        )
