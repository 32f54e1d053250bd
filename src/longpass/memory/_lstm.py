"""The LSTM, a baseline under the same contract, and its fast form for batches.

The baseline of sections 5.1 and 5.2 (Hochreiter and Schmidhuber 1997).

`LSTM.unroll_batch` has a backward pass written by hand: it computes all four activations with one
tanh, keeps only what it needs through time, and makes the gradients of weights as one product over
all steps and sequences, in the orientation that is fast on CPUs.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from longpass import _checks
from longpass.memory._abstract import AbstractMemory, block_steps, clear
from longpass.memory._arguments import check_step, check_unroll, choose_dtype
from longpass.memory._gates import init_gate_weights, init_keep_bias, scan_gates
from longpass.memory._types import DType


class LSTMState(NamedTuple):
    """The state of an LSTM."""

    hidden: Float[Array, "*batch hidden"]
    cell: Float[Array, "*batch hidden"]


class LSTM(AbstractMemory):
    """Long short-term memory with forget gates.

    The output is the hidden state, `(hidden_size,)`; the state is an `LSTMState` of the hidden
    state and the cell. Input weights are Glorot-uniform, recurrent weights orthogonal per gate,
    biases 0 except the forget gate's, which is 1, so that an untrained LSTM remembers for about
    four steps. Tasks with longer delays need `longest_time`.

    >>> memory = LSTM(3, 8, key=jax.random.key(0))
    >>> state, ys = memory.unroll(memory.initial_state(), jnp.ones((100, 3)))
    >>> state.cell.shape, ys.shape
    ((8,), (100, 8))
    """

    input_size: int = eqx.field(static=True)
    hidden_size: int = eqx.field(static=True)
    dtype: np.dtype = eqx.field(static=True)
    input_weight: Float[Array, "gates input"]
    recurrent_weight: Float[Array, "gates hidden"]
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
        """**Arguments:**

        - `input_size`: width of the input.
        - `hidden_size`: number of units.
        - `forget_bias`: initial bias of the forget gates. A gate with bias b keeps its cell for
          about 1 + exp(b) steps.
        - `longest_time`: if given, chrono initialisation: forget biases are log U(1,
          longest_time - 1), so that cells keep their contents for up to this many steps, and the
          input gates' biases are their negatives.
        - `dtype`: of parameters, inputs and state. None: JAX's default, float32.
        - `key`: for the initial weights.
        """
        self.input_size = _checks.positive_int("input_size", input_size)
        self.hidden_size = size = _checks.positive_int("hidden_size", hidden_size)
        self.dtype = choose_dtype(dtype)
        self.input_weight, self.recurrent_weight = init_gate_weights(
            4, size, self.input_size, self.dtype, key
        )
        # Gates in the order input, forget, candidate, output.
        keep = init_keep_bias(size, forget_bias, longest_time, self.dtype, key)
        bias = jnp.zeros(4 * size, self.dtype).at[size : 2 * size].set(keep)
        self.bias = bias if longest_time is None else bias.at[:size].set(-keep)

    @property
    def output_shape(self) -> tuple[int, ...]:
        return (self.hidden_size,)

    def initial_state(self, batch_shape: tuple[int, ...] = ()) -> LSTMState:
        shape = (*batch_shape, self.hidden_size)
        return LSTMState(jnp.zeros(shape, self.dtype), jnp.zeros(shape, self.dtype))

    def step(self, state, x, start=False):
        x = check_step(self, state, x, start)
        return self._advance(clear(state, start), self.input_weight @ x + self.bias)

    def unroll(self, state, xs, starts=None, block_every=None):
        xs = check_unroll(self, state, xs, starts, block_every)
        # The input's part of the gates needs no state: one product over all time.
        projected = xs @ self.input_weight.T + self.bias
        return scan_gates(self._advance, state, projected, starts, block_every)

    def unroll_batch(self, states, xs, starts=None, block_every=None):
        """As for every memory, but faster, and differentiable in reverse mode only.

        For forward mode use `jax.vmap` over `unroll`.
        """
        xs = check_unroll(self, states, xs, starts, block_every, batched=True)
        blocks = block_steps(xs.shape[0], block_every)
        cleared = starts
        if blocks is not None:
            blocked = jnp.broadcast_to(jnp.asarray(blocks)[:, None], xs.shape[:2])
            cleared = blocked if starts is None else starts | blocked
        weights = (self.input_weight, self.recurrent_weight, self.bias)
        return _unroll_batch(weights, states, xs, starts, cleared)

    def _advance(self, state: LSTMState, projected: Float[Array, " gates"]):
        gates = projected + self.recurrent_weight @ state.hidden
        i, f, g, o = jnp.split(gates, 4)
        cell = jax.nn.sigmoid(f) * state.cell + jax.nn.sigmoid(i) * jnp.tanh(g)
        hidden = jax.nn.sigmoid(o) * jnp.tanh(cell)
        return LSTMState(hidden, cell), hidden


Weights = tuple[Float[Array, "gates input"], Float[Array, "gates hidden"], Float[Array, " gates"]]
BatchStarts = Bool[Array, "time batch"] | None


class _Residuals(NamedTuple):
    """What the backward pass needs of the forward pass."""

    weights: Weights
    xs: Float[Array, "time batch input"]
    gates: list[Float[Array, "time batch hidden"]]
    cell_tanh: Float[Array, "time batch hidden"]
    states_before: LSTMState
    cleared: BatchStarts


# `cleared` is where no gradient passes from step to step: at starts and at blocked steps.
@jax.custom_vjp
def _unroll_batch(weights: Weights, states: LSTMState, xs, starts, cleared):
    outputs, _ = _forward(weights, states, xs, starts, cleared)
    return outputs


def _forward(weights: Weights, states: LSTMState, xs, starts, cleared):
    input_weight, recurrent_weight, bias = weights
    projected = _merge_batch(xs) @ input_weight.T + bias
    projected = projected.reshape(*xs.shape[:2], bias.shape[0])
    recurrent = jax.lax.optimization_barrier(recurrent_weight.T)

    def body(states: LSTMState, inputs):
        projected, start = inputs
        if start is not None:
            states = LSTMState(*(jnp.where(start[:, None], 0, leaf) for leaf in states))
        gates = _activate(projected + states.hidden @ recurrent)
        i, f, g, o = gates
        cell = f * states.cell + i * g
        cell_tanh = jnp.tanh(cell)
        hidden = o * cell_tanh
        return LSTMState(hidden, cell), (hidden, gates, cell_tanh, states)

    last, (ys, gates, cell_tanh, before) = jax.lax.scan(body, states, (projected, starts))
    return (last, ys), _Residuals(weights, xs, gates, cell_tanh, before, cleared)


def _backward(residuals: _Residuals, gradients):
    (input_weight, recurrent_weight, _), xs, (i, f, g, o), cell_tanh, before, cleared = residuals
    last, ys = gradients
    # The derivatives of each step's cell and output need no recursion: computed for all steps.
    by_input = g * i * (1 - i)
    by_forget = before.cell * f * (1 - f)
    by_candidate = i * (1 - g * g)
    by_output = cell_tanh * o * (1 - o)
    by_cell = o * (1 - cell_tanh * cell_tanh)

    def body(carried: LSTMState, inputs):
        y, f, by_input, by_forget, by_candidate, by_output, by_cell, clear = inputs
        hidden = carried.hidden + y
        cell = carried.cell + by_cell * hidden
        gates = jnp.concatenate(
            [by_input * cell, by_forget * cell, by_candidate * cell, by_output * hidden], axis=-1
        )
        carried = LSTMState(gates @ recurrent_weight, f * cell)
        if clear is not None:
            carried = LSTMState(*(jnp.where(clear[:, None], 0, leaf) for leaf in carried))
        return carried, gates

    inputs = (ys, f, by_input, by_forget, by_candidate, by_output, by_cell, cleared)
    first, gates = jax.lax.scan(body, last, inputs, reverse=True)
    flat = _merge_batch(gates)
    # In this orientation the products are several times faster on CPUs than their transposes,
    # which automatic differentiation would make.
    by_weights = jax.lax.optimization_barrier(
        (_merge_batch(xs).T @ flat, _merge_batch(before.hidden).T @ flat)
    )
    weights = (by_weights[0].T, by_weights[1].T, jnp.sum(flat, axis=0))
    return weights, first, (flat @ input_weight).reshape(xs.shape), None, None


_unroll_batch.defvjp(_forward, _backward)


def _activate(gates: Float[Array, "batch gates"]) -> list[Float[Array, "batch hidden"]]:
    """Input, forget, candidate and output gates. Sigmoids are made from tanh: one call for all."""
    size = gates.shape[-1] // 4
    half = jnp.full(size, 0.5, gates.dtype)
    scale = jnp.concatenate([half, half, jnp.ones(size, gates.dtype), half])
    i, f, g, o = jnp.split(jnp.tanh(gates * scale), 4, axis=-1)
    return [0.5 * i + 0.5, 0.5 * f + 0.5, g, 0.5 * o + 0.5]


def _merge_batch(array: Float[Array, "time batch width"]) -> Float[Array, "rows width"]:
    return array.reshape(-1, array.shape[-1])
