"""minGRU (Feng et al., 2024): gates that do not see the state, as a baseline."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from longpass import _checks
from longpass.memory._abstract import AbstractMemory, clear
from longpass.memory._arguments import check_step, check_unroll
from longpass.memory._gates import init_keep_bias, scan_gates
from longpass.memory._types import DType


class MinGRU(AbstractMemory):
    """minGRU: h_t = k_t * h_{t-1} + (1 - k_t) * c_t, with k_t = sigmoid(K x_t + b) and c_t = C x_t.

    State and output are h, `(hidden_size,)`: linear in the state, gated by the input.

    >>> memory = MinGRU(3, 8, key=jax.random.key(0))
    >>> state, ys = memory.unroll(memory.initial_state(), jnp.ones((100, 3)))
    >>> state.shape, ys.shape
    ((8,), (100, 8))
    """

    input_size: int = eqx.field(static=True)
    hidden_size: int = eqx.field(static=True)
    dtype: np.dtype = eqx.field(static=True)
    weight: Float[Array, "gates input"]
    bias: Float[Array, " gates"]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        forget_bias: float = 1.0,
        longest_time: int | None = None,
        dtype: DType = None,
        key: PRNGKeyArray,
    ):
        """**Arguments:** those of `LSTM`. `forget_bias` and `longest_time` set the bias of the gate
        that keeps the state."""
        self.input_size = _checks.positive_int("input_size", input_size)
        self.hidden_size = size = _checks.positive_int("hidden_size", hidden_size)
        self.dtype = jnp.zeros((), dtype).dtype
        glorot = jax.nn.initializers.glorot_uniform(in_axis=1, out_axis=0)
        keys = jax.random.split(key, 2)
        self.weight = jnp.concatenate(
            [glorot(one, (size, self.input_size), self.dtype) for one in keys]
        )
        keep = init_keep_bias(size, forget_bias, longest_time, self.dtype, key)
        self.bias = jnp.zeros(2 * size, self.dtype).at[:size].set(keep)

    @property
    def output_shape(self) -> tuple[int, ...]:
        return (self.hidden_size,)

    def initial_state(self, batch_shape: tuple[int, ...] = ()) -> Float[Array, "*batch hidden"]:
        return jnp.zeros((*batch_shape, self.hidden_size), self.dtype)

    def step(self, state, x, start=False):
        x = check_step(self, state, x, start)
        return self._advance(clear(state, start), self.weight @ x + self.bias)

    def unroll(self, state, xs, starts=None, block_every=None):
        xs = check_unroll(self, state, xs, starts, block_every)
        projected = xs @ self.weight.T + self.bias
        return scan_gates(self._advance, state, projected, starts, block_every)

    def _advance(self, state: Float[Array, " hidden"], projected: Float[Array, " gates"]):
        gate, candidate = jnp.split(projected, 2)
        keep = jax.nn.sigmoid(gate)
        state = keep * state + (1.0 - keep) * candidate
        return state, state
