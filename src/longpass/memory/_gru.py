"""The gated recurrent unit: a baseline under the same contract.

Cho et al. 2014, in the form of PyTorch. The paper has no GRU.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from longpass import _checks
from longpass.memory._abstract import AbstractMemory, clear
from longpass.memory._arguments import check_step, check_unroll, choose_dtype
from longpass.memory._gates import init_gate_weights, init_keep_bias, scan_gates
from longpass.memory._types import DType


class GRU(AbstractMemory):
    """Gated recurrent unit (the variant with the reset gate after the product, as in cuDNN).

    State and output are the hidden state, `(hidden_size,)`. Input weights are Glorot-uniform,
    recurrent weights orthogonal per gate, biases 0 except the update gate's, which is 1.

    >>> memory = GRU(3, 8, key=jax.random.key(0))
    >>> state, ys = memory.unroll(memory.initial_state(), jnp.ones((100, 3)))
    >>> state.shape, ys.shape
    ((8,), (100, 8))
    """

    input_size: int = eqx.field(static=True)
    hidden_size: int = eqx.field(static=True)
    dtype: np.dtype = eqx.field(static=True)
    input_weight: Float[Array, "gates input"]
    recurrent_weight: Float[Array, "gates hidden"]
    bias: Float[Array, " gates"]
    candidate_bias: Float[Array, " hidden"]

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
        """**Arguments:** those of `LSTM`. The update gate keeps the state: `forget_bias` and
        `longest_time` set its bias."""
        self.input_size = _checks.positive_int("input_size", input_size)
        self.hidden_size = size = _checks.positive_int("hidden_size", hidden_size)
        self.dtype = choose_dtype(dtype)
        self.input_weight, self.recurrent_weight = init_gate_weights(
            3, size, self.input_size, self.dtype, key
        )
        # Gates in the order reset, update, candidate.
        keep = init_keep_bias(size, forget_bias, longest_time, self.dtype, key)
        self.bias = jnp.zeros(3 * size, self.dtype).at[size : 2 * size].set(keep)
        self.candidate_bias = jnp.zeros(size, self.dtype)

    @property
    def output_shape(self) -> tuple[int, ...]:
        return (self.hidden_size,)

    def initial_state(self, batch_shape: tuple[int, ...] = ()) -> Float[Array, "*batch hidden"]:
        return jnp.zeros((*batch_shape, self.hidden_size), self.dtype)

    def step(self, state, x, start=False):
        x = check_step(self, state, x, start)
        return self._advance(clear(state, start), self.input_weight @ x + self.bias)

    def unroll(self, state, xs, starts=None, block_every=None):
        xs = check_unroll(self, state, xs, starts, block_every)
        projected = xs @ self.input_weight.T + self.bias
        return scan_gates(self._advance, state, projected, starts, block_every)

    def _advance(self, state: Float[Array, " hidden"], projected: Float[Array, " gates"]):
        r, z, n = jnp.split(projected, 3)
        r_h, z_h, n_h = jnp.split(self.recurrent_weight @ state, 3)
        reset, update = jax.nn.sigmoid(r + r_h), jax.nn.sigmoid(z + z_h)
        candidate = jnp.tanh(n + reset * (n_h + self.candidate_bias))
        state = update * state + (1.0 - update) * candidate
        return state, state
