"""LSTM and GRU under the same contract: the baselines."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from longpass import _checks
from longpass.memory._contract import (
    AbstractMemory,
    block_gradient,
    block_steps,
    check_step,
    check_unroll,
    clear,
)


class LSTMState(NamedTuple):
    """What an LSTM carries."""

    hidden: Float[Array, " size"]
    cell: Float[Array, " size"]


class LSTM(AbstractMemory):
    """Long short-term memory with forget gates. The output is the hidden state, (size,).

    Input weights are Glorot-uniform, recurrent ones orthogonal for each gate, biases 0 but for
    the forget gate's, which is 1 so that it remembers from the start.
    """

    input_size: int = eqx.field(static=True)
    size: int = eqx.field(static=True)
    dtype: Any = eqx.field(static=True)
    input_weight: Float[Array, "gates input"]
    recurrent_weight: Float[Array, "gates size"]
    bias: Float[Array, " gates"]

    def __init__(self, input_size: int, size: int, *, dtype: Any = None, key: PRNGKeyArray):
        self.input_size = _checks.positive_int("input_size", input_size)
        self.size = _checks.positive_int("size", size)
        self.dtype = jnp.zeros((), dtype).dtype
        self.input_weight, self.recurrent_weight = _gate_weights(
            4, self.size, self.input_size, self.dtype, key
        )
        # Gates in the order input, forget, candidate, output.
        self.bias = jnp.zeros(4 * size, self.dtype).at[size : 2 * size].set(1.0)

    @property
    def output_shape(self) -> tuple[int, ...]:
        return (self.size,)

    def initial_state(self) -> LSTMState:
        return LSTMState(jnp.zeros(self.size, self.dtype), jnp.zeros(self.size, self.dtype))

    def step(self, state, x, start=False):
        check_step(self, state, x, start)
        return self._advance(clear(state, start), self.input_weight @ x + self.bias)

    def unroll(self, state, xs, starts=None, block_every=None):
        check_unroll(self, state, xs, starts, block_every)
        # The input's share of the gates needs no state: one product over all time.
        projected = xs @ self.input_weight.T + self.bias
        return _scan(self._advance, state, projected, starts, block_every)

    def _advance(self, state: LSTMState, projected: Float[Array, " gates"]):
        gates = projected + self.recurrent_weight @ state.hidden
        i, f, g, o = jnp.split(gates, 4)
        cell = jax.nn.sigmoid(f) * state.cell + jax.nn.sigmoid(i) * jnp.tanh(g)
        hidden = jax.nn.sigmoid(o) * jnp.tanh(cell)
        return LSTMState(hidden, cell), hidden


class GRU(AbstractMemory):
    """Gated recurrent unit (the variant with the reset gate after the product, as in cuDNN).

    The output is the state, (size,). Initialised as `LSTM` is, with the update gate's bias 1.
    """

    input_size: int = eqx.field(static=True)
    size: int = eqx.field(static=True)
    dtype: Any = eqx.field(static=True)
    input_weight: Float[Array, "gates input"]
    recurrent_weight: Float[Array, "gates size"]
    bias: Float[Array, " gates"]
    candidate_bias: Float[Array, " size"]

    def __init__(self, input_size: int, size: int, *, dtype: Any = None, key: PRNGKeyArray):
        self.input_size = _checks.positive_int("input_size", input_size)
        self.size = _checks.positive_int("size", size)
        self.dtype = jnp.zeros((), dtype).dtype
        self.input_weight, self.recurrent_weight = _gate_weights(
            3, self.size, self.input_size, self.dtype, key
        )
        # Gates in the order reset, update, candidate.
        self.bias = jnp.zeros(3 * size, self.dtype).at[size : 2 * size].set(1.0)
        self.candidate_bias = jnp.zeros(size, self.dtype)

    @property
    def output_shape(self) -> tuple[int, ...]:
        return (self.size,)

    def initial_state(self) -> Float[Array, " size"]:
        return jnp.zeros(self.size, self.dtype)

    def step(self, state, x, start=False):
        check_step(self, state, x, start)
        return self._advance(clear(state, start), self.input_weight @ x + self.bias)

    def unroll(self, state, xs, starts=None, block_every=None):
        check_unroll(self, state, xs, starts, block_every)
        projected = xs @ self.input_weight.T + self.bias
        return _scan(self._advance, state, projected, starts, block_every)

    def _advance(self, state: Float[Array, " size"], projected: Float[Array, " gates"]):
        r, z, n = jnp.split(projected, 3)
        r_h, z_h, n_h = jnp.split(self.recurrent_weight @ state, 3)
        reset, update = jax.nn.sigmoid(r + r_h), jax.nn.sigmoid(z + z_h)
        candidate = jnp.tanh(n + reset * (n_h + self.candidate_bias))
        state = update * state + (1.0 - update) * candidate
        return state, state


def _gate_weights(gates: int, size: int, input_size: int, dtype: Any, key: PRNGKeyArray):
    """Input and recurrent weights of `gates` gates, each initialised on its own."""
    glorot = jax.nn.initializers.glorot_uniform(in_axis=1, out_axis=0)
    orthogonal = jax.nn.initializers.orthogonal()
    keys = jax.random.split(key, (2, gates))
    return (
        jnp.concatenate([glorot(one, (size, input_size), dtype) for one in keys[0]]),
        jnp.concatenate([orthogonal(one, (size, size), dtype) for one in keys[1]]),
    )


def _scan(advance, state, projected, starts, block_every):
    blocks = block_steps(projected.shape[0], block_every)

    def body(state, inputs):
        projected, start, block = inputs
        state = block_gradient(state, block)
        return advance(state if start is None else clear(state, start), projected)

    return jax.lax.scan(body, state, (projected, starts, blocks))
