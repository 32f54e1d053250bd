"""What the LSTM and the GRU share: initial weights, and the scan along time."""

from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Float, PRNGKeyArray

from longpass.memory._abstract import block_gradient, block_steps, clear
from longpass.memory._types import Starts

StateT = TypeVar("StateT")


def init_gate_weights(
    num_gates: int, hidden_size: int, input_size: int, dtype: DTypeLike, key: PRNGKeyArray
) -> tuple[Float[Array, "gates input"], Float[Array, "gates hidden"]]:
    """Input weights (Glorot-uniform) and recurrent weights (orthogonal), gate by gate."""
    glorot = jax.nn.initializers.glorot_uniform(in_axis=1, out_axis=0)
    orthogonal = jax.nn.initializers.orthogonal()
    keys = jax.random.split(key, (2, num_gates))
    return (
        jnp.concatenate([glorot(one, (hidden_size, input_size), dtype) for one in keys[0]]),
        jnp.concatenate([orthogonal(one, (hidden_size, hidden_size), dtype) for one in keys[1]]),
    )


def scan_gates(
    advance: Callable[[StateT, Array], tuple[StateT, Array]],
    state: StateT,
    projected: Float[Array, "time gates"],
    starts: Starts,
    block_every: int | None,
) -> tuple[StateT, Float[Array, "time hidden"]]:
    """Apply `advance(state, projected)` to every step: (state after the last, outputs)."""
    blocks = block_steps(projected.shape[0], block_every)

    def body(state, inputs):
        projected, start, block = inputs
        state = block_gradient(state, block)
        return advance(state if start is None else clear(state, start), projected)

    return jax.lax.scan(body, state, (projected, starts, blocks))
