"""How far back the output of a memory depends on its inputs: its Jacobian by lag."""

import copy
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from longpass.memory._concrete import PooledMemory
from longpass.memory._types import MemoryLike, State


def measure_lags(
    memory: MemoryLike, xs: Float[Array, "time input"], state: State = None
) -> Float[Array, " time"]:
    """How strongly the last output depends on each input, newest input first.

    **Arguments:**

    - `memory`: any memory. Pools that pass no gradient in training pass it here.
    - `xs`: inputs, of shape `(time, input_size)`.
    - `state`: before the first input. None: the initial state.

    **Returns:** the Frobenius norm of the Jacobian of the last output in each input, of shape
    `(time,)`; place s is the input s steps before the last.
    """
    memory = _pass_all_gradients(memory)
    first = memory.initial_state() if state is None else state

    def last_output(xs: Any) -> Any:
        return memory.unroll(first, xs)[1][-1].ravel()

    jacobian = jax.jacrev(last_output)(xs)  # (outputs, time, inputs)
    return jnp.sqrt(jnp.sum(jacobian**2, axis=(0, 2)))[::-1]


def mean_lag(norms: Float[Array, " time"]) -> Float[Array, ""]:
    """How far back outputs depend on inputs, on average.

    `longpass.theory.mean_lag` has the same for pools, without a network.

    **Arguments:**

    - `norms`: the weight of each lag, from `measure_lags`.

    **Returns:** the mean lag in steps: 0 if only the newest input counts.
    """
    lags = jnp.arange(norms.shape[0], dtype=norms.dtype)
    return jnp.sum(lags * norms) / jnp.maximum(jnp.sum(norms), jnp.finfo(norms.dtype).tiny)


def _pass_all_gradients(memory: MemoryLike) -> MemoryLike:
    if not isinstance(memory, PooledMemory):
        return memory
    whole = copy.copy(memory)
    object.__setattr__(whole, "gradient_pools", memory.num_pools)
    return whole
