"""Truncated back-propagation over endless streams, for a group of runs at once.

A minibatch is the next T symbols of B streams. The memory's state is carried from minibatch to
minibatch; gradients are not. The loss is the mean cross-entropy over the labels in the minibatch,
0 if there are none: Adam takes a step in any case.

A group is runs of one shape, each with its own seed, weights, learning rate, epsilon and rates of
pools: the first axis of every array is the group. A single run is a group of one.
"""

import dataclasses
import functools
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PyTree

from longpass.streams._flat_weights import WeightLayout
from longpass.streams._readout import Chunk, Readout
from longpass.streams._slots import Slots, find_candidates, pack_slots
from longpass.streams._stream import AnyArray, Cursor, Stream, StreamTask, read_stream
from longpass.streams._tally import Tally, TrainingLimits, count_results, count_update

# Steps of each stream that are drawn in one call. Sequences are drawn whole, also those of which a
# call needs only a part: with this many steps little is wasted.
_STEPS_PER_DRAW = 1024


class GroupHyperParams(NamedTuple):
    """What runs of one group may differ in, besides weights and streams."""

    learning_rate: Float[Array, ""]
    epsilon: Float[Array, ""]
    readout: Readout
    """It holds the rates of the pools."""


class Learner(NamedTuple):
    """What changes while runs learn. A checkpoint holds it and the cursors of the streams."""

    weights: Float[AnyArray, " weights"]
    optimiser: PyTree[AnyArray]
    memory: PyTree[AnyArray]
    tally: Tally


@dataclasses.dataclass(frozen=True)
class GroupShape:
    """What all runs of a group share; fixed when the program is compiled."""

    task: StreamTask
    truncation: int
    batch_size: int
    clear_state: bool

    @property
    def steps(self) -> int:
        """Symbols of each stream that are drawn in one call: whole minibatches."""
        return max(1, _STEPS_PER_DRAW // self.truncation) * self.truncation

    @property
    def segments(self) -> int:
        """The most labels that a stream can have in a minibatch."""
        return -(-self.truncation // self.task.shortest)

    @property
    def slots(self) -> int:
        """Slots for labels in a minibatch: nearly always enough, seldom more than twice too many.

        If there are more labels, the network is read at all candidates.
        """
        most = self.segments * self.batch_size
        chance = min(1.0, self.truncation / self.task.mean_length / self.segments)
        spread = math.sqrt(most * chance * (1 - chance))
        return min(most, math.ceil(most * chance + 4 * spread) + 1)


class Minibatch(NamedTuple):
    """One run's minibatch, with what is known of it without weights."""

    chunk: Chunk
    candidates: Slots
    slots: Slots
    prepared: PyTree[Array]
    """What the readout prepared for the slots."""


@functools.partial(jax.jit, static_argnums=(0, 1))
def draw_symbols(task: StreamTask, steps: int, cursors: Cursor) -> tuple[Cursor, Stream]:
    """Draw the next `steps` symbols of streams.

    A program of its own, since it is the same for networks of all shapes.

    **Arguments:**

    - `task`: of the streams.
    - `steps`: symbols per stream.
    - `cursors`: where the streams are, of shape (group, B).

    **Returns:** (where to continue, symbols and labels of shape (group, steps, B)).
    """
    one_run = jax.vmap(functools.partial(read_stream, task, steps=steps), out_axes=(0, 1))
    return jax.vmap(one_run)(cursors)


@functools.partial(jax.jit, static_argnums=(0, 1), donate_argnums=2)
def learn_stream(
    shape: GroupShape,
    layout: WeightLayout,
    learner: Learner,
    hyper: GroupHyperParams,
    stream: Stream,
    limits: TrainingLimits,
) -> Learner:
    """Learn from symbols that were drawn, minibatch by minibatch.

    **Arguments:**

    - `shape`, `layout`: what all runs share.
    - `learner`: donated: it cannot be used afterwards.
    - `hyper`: in what runs differ.
    - `stream`: of `shape.steps` symbols, (group, steps, B).
    - `limits`: no update is made beyond them.

    **Returns:** the learner after the last minibatch.
    """
    minibatches = jax.vmap(functools.partial(_prepare_minibatches, shape))(hyper.readout, stream)
    minibatches = jax.tree.map(lambda leaf: jnp.swapaxes(leaf, 0, 1), minibatches)
    update = functools.partial(_update, shape, layout, hyper, limits)
    return jax.lax.scan(update, learner, minibatches)[0]


def _prepare_minibatches(shape: GroupShape, readout: Readout, stream: Stream) -> Minibatch:
    """One run's minibatches, (minibatches, ...), with all that does not depend on weights."""
    T, B = shape.truncation, shape.batch_size
    symbols, labels, starts = (leaf.reshape(-1, T, B) for leaf in stream)
    last_start = None
    if shape.clear_state:
        step = jnp.arange(T, dtype=jnp.int32)[:, None]
        last_start = jax.lax.cummax(jnp.where(starts, step, -1), axis=1)
    chunk = Chunk(jnp.asarray(symbols), last_start)
    candidates = jax.vmap(lambda labels: find_candidates(labels, shape.segments))(labels)
    slots = jax.vmap(lambda candidates: pack_slots(candidates, shape.slots))(candidates)
    return Minibatch(chunk, candidates, slots, jax.vmap(readout.prepare)(chunk, slots))


def _update(
    shape: GroupShape,
    layout: WeightLayout,
    hyper: GroupHyperParams,
    limits: TrainingLimits,
    learner: Learner,
    minibatch: Minibatch,
) -> tuple[Learner, None]:
    """One minibatch of every run of the group."""

    def skip(learner: Learner, minibatch: Minibatch):
        """No run has a label: the gradient is 0."""

        def skip_one(learner: Learner, minibatch: Minibatch, readout: Readout):
            network = layout.build(jnp.asarray(learner.weights))
            memory = readout.skip(network, learner.memory, minibatch.chunk, minibatch.prepared)
            return jnp.zeros_like(learner.weights), memory, learner.tally

        return jax.vmap(skip_one)(learner, minibatch, hyper.readout)

    def read_slots(learner: Learner, minibatch: Minibatch):
        """The labels of every run fit into its slots."""
        read_one = functools.partial(_gradient, layout, limits)
        return jax.vmap(read_one)(
            learner, minibatch.chunk, minibatch.slots, minibatch.prepared, hyper.readout
        )

    def read_candidates(learner: Learner, minibatch: Minibatch):
        """A run has more labels than slots: read wherever a label may be."""

        def read_one(learner: Learner, chunk: Chunk, candidates: Slots, readout: Readout):
            prepared = readout.prepare(chunk, candidates)
            return _gradient(layout, limits, learner, chunk, candidates, prepared, readout)

        return jax.vmap(read_one)(learner, minibatch.chunk, minibatch.candidates, hyper.readout)

    def learn(learner: Learner) -> Learner:
        # One branch for the whole group, so that only that one is executed.
        most = jnp.max(jnp.sum(minibatch.candidates.valid, axis=-1))
        branch = jnp.where(most == 0, 0, jnp.where(most <= shape.slots, 1, 2))
        branches = [skip, read_slots, read_candidates]
        gradient, memory, tally = jax.lax.switch(branch, branches, learner, minibatch)
        weights, optimiser = jax.vmap(_adam)(
            hyper.learning_rate, hyper.epsilon, gradient, learner.optimiser, learner.weights
        )
        tally = jax.vmap(lambda tally: count_update(tally, limits))(tally)
        return Learner(weights, optimiser, memory, tally)

    over = learner.tally.updates[0] >= limits.updates
    return jax.lax.cond(over, lambda learner: learner, learn, learner), None


def _gradient(
    layout: WeightLayout,
    limits: TrainingLimits,
    learner: Learner,
    chunk: Chunk,
    slots: Slots,
    prepared: PyTree[Array],
    readout: Readout,
) -> tuple[Float[Array, " weights"], PyTree[Array], Tally]:
    """(Gradient, memory after the minibatch, tally) of one run."""

    def loss(weights: Float[Array, " weights"]):
        network = layout.build(weights)
        memory, logits = readout.read(network, learner.memory, chunk, slots, prepared)
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, slots.label)
        count = jnp.maximum(jnp.sum(slots.valid), 1).astype(losses.dtype)
        return jnp.sum(jnp.where(slots.valid, losses, 0)) / count, (memory, logits)

    (value, (memory, logits)), gradient = jax.value_and_grad(loss, has_aux=True)(learner.weights)
    tally = count_results(learner.tally, logits, slots, limits)
    failed = ~jnp.isfinite(value) & (tally.diverged < 0)
    tally = tally._replace(diverged=jnp.where(failed, tally.updates, tally.diverged))
    return gradient, memory, tally


def _adam(
    learning_rate: Float[Array, ""],
    epsilon: Float[Array, ""],
    gradient: Float[Array, " weights"],
    optimiser: PyTree[Array],
    weights: Float[AnyArray, " weights"],
) -> tuple[Float[Array, " weights"], PyTree[Array]]:
    changes, optimiser = optax.adam(learning_rate, eps=epsilon).update(gradient, optimiser)
    return jnp.asarray(optax.apply_updates(weights, changes)), optimiser
