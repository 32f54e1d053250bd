"""Many streams at once: `unroll` over a batch, in the fastest form for learning.

For most memories that is `vmap` over `unroll`. An LSTM has a form of its own here: activations by
one tanh, a backward pass by hand that takes no more than it needs through time, and gradients of
weights as one product over all steps and streams, in the orientation that CPUs like.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from longpass.memory._contract import AbstractMemory, State, block_steps
from longpass.memory._gated import LSTM, LSTMState


def unroll_batch(
    memory: AbstractMemory,
    states: State,
    xs: Float[Array, "time batch input"],
    starts: Bool[Array, "time batch"] | None = None,
    block_every: int | None = None,
) -> tuple[State, Float[Array, "time batch *output"]]:
    """(States after the last step, outputs) of many streams: `unroll` of each.

    Time first, then the batch; `states` have the batch as their first axis. Derivatives are for
    reverse mode only (use `vmap` over `unroll` for forward mode).
    """
    if isinstance(memory, LSTM):
        return _lstm(memory, states, xs, starts, block_every)
    over_batch = jax.vmap(
        lambda state, x, start: memory.unroll(state, x, start, block_every),
        in_axes=(0, 1, 1),
        out_axes=(0, 1),
    )
    return over_batch(states, xs, starts)


def _lstm(memory: LSTM, states, xs, starts, block_every):
    blocks = block_steps(xs.shape[0], block_every)
    cleared = starts
    if blocks is not None:
        blocked = jnp.broadcast_to(jnp.asarray(blocks)[:, None], xs.shape[:2])
        cleared = blocked if starts is None else starts | blocked
    weights = (memory.input_weight, memory.recurrent_weight, memory.bias)
    return _unrolled(weights, states, xs, starts, cleared)


# `cleared` is where gradients may not pass from step to step: at starts and at blocks.
@jax.custom_vjp
def _unrolled(weights, states: LSTMState, xs, starts, cleared):
    (states, seen), _ = _forward(weights, states, xs, starts, cleared)
    return states, seen


def _forward(weights, states: LSTMState, xs, starts, cleared):
    input_weight, recurrent_weight, bias = weights
    projected = _flat(xs) @ input_weight.T + bias
    projected = projected.reshape(*xs.shape[:2], -1)
    recurrent = recurrent_weight.T

    def body(states: LSTMState, inputs):
        projected, start = inputs
        if start is not None:
            states = LSTMState(*(jnp.where(start[:, None], 0, leaf) for leaf in states))
        gates = _activate(projected + states.hidden @ recurrent)
        i, f, g, o = gates
        cell = f * states.cell + i * g
        shown = jnp.tanh(cell)
        hidden = o * shown
        return LSTMState(hidden, cell), (hidden, gates, shown, states)

    last, (seen, gates, shown, before) = jax.lax.scan(body, states, (projected, starts))
    return (last, seen), (weights, xs, gates, shown, before, cleared)


def _backward(kept, gradients):
    (input_weight, recurrent_weight, _), xs, (i, f, g, o), shown, before, cleared = kept
    last, seen = gradients
    # How a step's cell and output move with its gates: the same for all steps, so done at once.
    by_input = g * i * (1 - i)
    by_forget = before.cell * f * (1 - f)
    by_candidate = i * (1 - g * g)
    by_output = shown * o * (1 - o)
    by_cell = o * (1 - shown * shown)

    def body(carried: LSTMState, inputs):
        seen, f, by_input, by_forget, by_candidate, by_output, by_cell, clear = inputs
        hidden = carried.hidden + seen
        cell = carried.cell + by_cell * hidden
        gates = jnp.concatenate(
            [by_input * cell, by_forget * cell, by_candidate * cell, by_output * hidden], axis=-1
        )
        carried = LSTMState(gates @ recurrent_weight, f * cell)
        if clear is not None:
            carried = LSTMState(*(jnp.where(clear[:, None], 0, leaf) for leaf in carried))
        return carried, gates

    inputs = (seen, f, by_input, by_forget, by_candidate, by_output, by_cell, cleared)
    first, gates = jax.lax.scan(body, last, inputs, reverse=True)
    flat = _flat(gates)
    # Small times long times wide: several times faster on CPUs than its transpose, which is what
    # automatic differentiation makes.
    weights = (
        (_flat(xs).T @ flat).T,
        (_flat(before.hidden).T @ flat).T,
        jnp.sum(flat, axis=0),
    )
    return weights, first, (flat @ input_weight).reshape(xs.shape), None, None


_unrolled.defvjp(_forward, _backward)


def _activate(gates: Float[Array, "batch gates"]) -> list[Array]:
    """Input, forget, candidate and output gates; sigmoids as tanh, of which one call does."""
    size = gates.shape[-1] // 4
    half = jnp.full(size, 0.5, gates.dtype)
    scale = jnp.concatenate([half, half, jnp.ones(size, gates.dtype), half])
    i, f, g, o = jnp.split(jnp.tanh(gates * scale), 4, axis=-1)
    return [0.5 * i + 0.5, 0.5 * f + 0.5, g, 0.5 * o + 0.5]


def _flat(array: Float[Array, "time batch *rest"]) -> Any:
    return array.reshape(-1, array.shape[-1])
