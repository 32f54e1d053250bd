"""The definition of truncated back-propagation, which the fast learner is held to.

Every step of every stream is computed by the memory's own `unroll`, and the network is read at
every step: one run, nothing skipped, nothing computed ahead.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PyTree

from longpass.memory import State
from longpass.networks import Classifier
from longpass.streams._flat_weights import WeightLayout, flatten_weights
from longpass.streams._stream import NO_LABEL, Stream


class ReferenceLearner(NamedTuple):
    """What changes while a run learns. The memory's states have the streams as their first axis."""

    weights: Float[Array, " weights"]
    optimiser: PyTree[Array]
    memory: State


def init_reference(network: Classifier, batch_size: int) -> ReferenceLearner:
    """The learner before its first update, with the weights of `network`.

    **Arguments:**

    - `network`: gives the weights.
    - `batch_size`: the number of streams.

    **Returns:**

    The learner.
    """
    weights = flatten_weights(network)
    optimiser = optax.adam(1.0).init(weights)  # whose initial state has no learning rate in it
    return ReferenceLearner(weights, optimiser, network.memory.initial_state((batch_size,)))


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def learn_reference(
    layout: WeightLayout,
    truncation: int,
    clear_state: bool,
    learner: ReferenceLearner,
    learning_rate: Float[Array, ""],
    epsilon: Float[Array, ""],
    stream: Stream,
) -> tuple[ReferenceLearner, Float[Array, " updates"]]:
    """Learn from a piece of streams, minibatch by minibatch.

    **Arguments:**

    - `layout`: of the network, rates included.
    - `truncation`: steps of a minibatch.
    - `clear_state`: whether starts of sequences clear the memory.
    - `learner`: before the piece.
    - `learning_rate`, `epsilon`: Adam's.
    - `stream`: the piece, of shape (steps, B).

    **Returns:** (the learner after the piece, the loss of every minibatch in it).
    """
    batch = stream.symbols.shape[1]
    chunks = jax.tree.map(lambda leaf: leaf.reshape(-1, truncation, batch), stream)

    def update(learner: ReferenceLearner, chunk: Stream):
        def loss(weights: Float[Array, " weights"]):
            network = layout.build(weights)
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
        return ReferenceLearner(weights, optimiser, memory), value

    return jax.lax.scan(update, learner, chunks)
