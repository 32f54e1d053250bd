"""The definition of truncated back-propagation that the fast form is held to.

Every step of every stream is unrolled by the memory's own `unroll`, and the network is read at
every step. One run, no group, no tricks.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

from longpass.streams._flat_weights import Layout
from longpass.streams._stream import NO_LABEL, Stream


class PlainLearner(NamedTuple):
    """What changes as a run learns. The memory's states have the streams as their first axis."""

    weights: Float[Array, " weights"]
    optimiser: Any
    memory: Any


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def plain_learn(
    layout: Layout,
    truncation: int,
    clear_state: bool,
    learner: PlainLearner,
    learning_rate: Float[Array, ""],
    epsilon: Float[Array, ""],
    stream: Stream,
) -> tuple[PlainLearner, Float[Array, " updates"]]:
    """(Learner after a piece of streams (steps, B), the loss of every minibatch in it)."""
    batch = stream.symbols.shape[1]
    chunks = jax.tree.map(lambda leaf: leaf.reshape(-1, truncation, batch), stream)

    def update(learner: PlainLearner, chunk: Stream):
        def loss(weights):
            network = layout.network(weights)
            symbols = jax.nn.one_hot(chunk.symbols, network.num_symbols, dtype=weights.dtype)
            starts = chunk.starts if clear_state else None
            unroll = jax.vmap(network.unroll, in_axes=(0, 1, 1), out_axes=(0, 1))
            memory, logits = unroll(learner.memory, symbols, starts)
            labelled = chunk.labels != NO_LABEL
            labels = jnp.where(labelled, chunk.labels, 0)
            losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
            count = jnp.maximum(jnp.sum(labelled), 1).astype(losses.dtype)
            return jnp.sum(jnp.where(labelled, losses, 0)) / count, memory

        (value, memory), gradient = jax.value_and_grad(loss, has_aux=True)(learner.weights)
        changes, optimiser = optax.adam(learning_rate, eps=epsilon).update(
            gradient, learner.optimiser
        )
        weights = jnp.asarray(optax.apply_updates(learner.weights, changes))
        return PlainLearner(weights, optimiser, memory), value

    return jax.lax.scan(update, learner, chunks)
