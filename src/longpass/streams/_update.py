"""Truncated back-propagation over endless streams, for a group of runs at once.

A minibatch is the next T symbols of B streams. The memory's state goes from minibatch to
minibatch; gradients do not. The loss is the mean cross-entropy over the labels in the minibatch,
0 if there are none: Adam takes its step all the same.

A group is runs of one shape, each with its own seed, weights, learning rate, epsilon and rates of
pools: every array has the group as its first axis. A run alone is a group of one.
"""

import dataclasses
import functools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int

from longpass.streams._flat_weights import Layout
from longpass.streams._readout import AbstractForm, Chunk, Slots
from longpass.streams._stream import NO_LABEL, Cursor, Stream, Task, read

SMOOTHING = 0.98
IN_A_ROW = 2000  # the criterion of 1997
WITHIN = 0.3  # of its target every output must be, to count as right for that criterion
POINTS = 100  # of a learning curve
# Steps of each stream that are drawn at once: enough that few sequences are drawn in vain.
AHEAD = 1024


class Hyper(NamedTuple):
    """What runs of one group may differ in, beside weights and streams."""

    learning_rate: Float[Array, ""]
    epsilon: Float[Array, ""]
    form: AbstractForm


class Until(NamedTuple):
    """Where learning ends (updates), and how many sequences count for `Tally.right`."""

    updates: Int[Array, ""]
    sequences: Int[Array, ""]


class Tally(NamedTuple):
    """What has been counted so far. Numbers of updates and sequences; -1 for never."""

    updates: Int[Array, ""]
    sequences: Int[Array, ""]
    right: Int[Array, ""]
    smoothed: Float[Array, ""]
    streak: Int[Array, ""]
    criterion: Int[Array, ""]
    diverged: Int[Array, ""]
    curve: Float[Array, " points"]


class Learner(NamedTuple):
    """What changes as runs learn. With their cursors, it is what a checkpoint holds."""

    weights: Float[Array, " weights"]
    optimiser: Any
    memory: Any
    tally: Tally


@dataclasses.dataclass(frozen=True)
class Shape:
    """What all runs of a group share, fixed when the program is compiled."""

    task: Task
    truncation: int
    batch_size: int
    clear_state: bool

    @property
    def steps(self) -> int:
        """Symbols of each stream that are drawn at once: whole minibatches."""
        return max(1, AHEAD // self.truncation) * self.truncation

    @property
    def segments(self) -> int:
        """A stream has at most so many labels in a minibatch."""
        return -(-self.truncation // self.task.shortest)

    @property
    def slots(self) -> int:
        """Labels for which a minibatch has room: nearly always enough, seldom twice too many.

        Where more come, all places where one might be are read.
        """
        most = self.segments * self.batch_size
        chance = min(1.0, self.truncation / self.task.mean_length / self.segments)
        spread = math.sqrt(most * chance * (1 - chance))
        return min(most, math.ceil(most * chance + 4 * spread) + 1)


def new_tally(classes: int, dtype: Any) -> Tally:
    """Nothing counted yet; accuracy is taken to be chance."""
    zero, never = jnp.zeros((), jnp.int32), jnp.full((), -1, jnp.int32)
    chance = jnp.full((), 1 / classes, dtype)
    return Tally(zero, zero, zero, chance, zero, never, never, jnp.full(POINTS, jnp.nan, dtype))


class Minibatch(NamedTuple):
    """One run's minibatch, with what is known of it without weights."""

    chunk: Chunk
    candidates: Slots
    slots: Slots
    ahead: Any


@functools.partial(jax.jit, static_argnums=(0, 1))
def draw(task: Task, steps: int, cursors: Cursor) -> tuple[Cursor, Stream]:
    """The next `steps` symbols of streams (group, B): leaves are (group, steps, B).

    A program of its own, since it is the same for networks of all shapes.
    """
    one_run = jax.vmap(functools.partial(read, task, steps=steps), out_axes=(0, 1))
    return jax.vmap(one_run)(cursors)


@functools.partial(jax.jit, static_argnums=(0, 1), donate_argnums=2)
def learn(
    shape: Shape, layout: Layout, learner: Learner, hyper: Hyper, stream: Stream, until: Until
) -> Learner:
    """Learn from what was drawn, minibatch by minibatch, at most `until`."""
    minibatches = jax.vmap(functools.partial(_look_ahead, shape))(hyper.form, stream)
    minibatches = jax.tree.map(lambda leaf: jnp.swapaxes(leaf, 0, 1), minibatches)
    update = functools.partial(_update, shape, layout, hyper, until)
    return jax.lax.scan(update, learner, minibatches)[0]


def _look_ahead(shape: Shape, form: AbstractForm, stream: Stream) -> Minibatch:
    """One run's minibatches, (R, ...): what is in them, where labels are, what pools will hold."""
    T, B = shape.truncation, shape.batch_size
    symbols, labels, starts = (leaf.reshape(-1, T, B) for leaf in stream)
    since = None
    if shape.clear_state:
        step = jnp.arange(T, dtype=jnp.int32)[:, None]
        since = jax.lax.cummax(jnp.where(starts, step, -1), axis=1)
    chunk = Chunk(symbols, since)
    candidates = jax.vmap(functools.partial(_candidates, shape))(labels)
    slots = jax.vmap(functools.partial(_pack, shape.slots))(candidates)
    return Minibatch(chunk, candidates, slots, jax.vmap(form.ahead)(chunk, slots))


def _candidates(shape: Shape, labels: Int[Array, "T B"]) -> Slots:
    """All places where a label may be: one a stream in each segment that is short enough."""
    T, B, q = shape.truncation, shape.batch_size, shape.segments
    length = -(-T // q)
    padded = jnp.pad(labels, ((0, q * length - T), (0, 0)), constant_values=NO_LABEL)
    parts = padded.reshape(q, length, B)
    found = parts != NO_LABEL
    step = jnp.arange(length, dtype=jnp.int32)[:, None]
    time = jnp.sum(jnp.where(found, step, 0), axis=1, dtype=jnp.int32)
    offset = length * jnp.arange(q, dtype=jnp.int32)[:, None]
    return Slots(
        time=(time + offset).ravel(),
        stream=jnp.tile(jnp.arange(B, dtype=jnp.int32), q),
        label=jnp.sum(jnp.where(found, parts, 0), axis=1, dtype=jnp.int32).ravel(),
        valid=jnp.any(found, axis=1).ravel(),
    )


def _pack(count: int, candidates: Slots) -> Slots:
    """The valid candidates, in order, in `count` slots."""
    if count == candidates.valid.shape[0]:
        return candidates
    place = jnp.cumsum(candidates.valid, dtype=jnp.int32) - 1
    place = jnp.where(candidates.valid, place, count)
    which = jnp.arange(candidates.valid.shape[0], dtype=jnp.int32)
    source = jnp.zeros(count, jnp.int32).at[place].set(which, mode="drop")
    packed = jax.tree.map(lambda leaf: leaf[source], candidates)
    filled = jnp.arange(count) < jnp.sum(candidates.valid)
    return packed._replace(valid=filled)


def _update(
    shape: Shape, layout: Layout, hyper: Hyper, until: Until, learner: Learner, minibatch: Minibatch
):
    """One minibatch of every run of the group."""

    def none(learner: Learner, minibatch: Minibatch):
        def one(learner, minibatch, form):
            network = layout.network(learner.weights)
            memory = form.skip(network, learner.memory, minibatch.chunk, minibatch.ahead)
            return jnp.zeros_like(learner.weights), memory, learner.tally

        return jax.vmap(one)(learner, minibatch, hyper.form)

    def some(learner: Learner, minibatch: Minibatch):
        one = functools.partial(_gradient, layout, until)
        return jax.vmap(one)(learner, minibatch.chunk, minibatch.slots, minibatch.ahead, hyper.form)

    def crowd(learner: Learner, minibatch: Minibatch):
        def one(learner, chunk, candidates, form):
            ahead = form.ahead(chunk, candidates)
            return _gradient(layout, until, learner, chunk, candidates, ahead, form)

        return jax.vmap(one)(learner, minibatch.chunk, minibatch.candidates, hyper.form)

    def learn(learner: Learner) -> Learner:
        # The branch is chosen for the group as a whole, so that only one is run.
        most = jnp.max(jnp.sum(minibatch.candidates.valid, axis=-1))
        branch = jnp.where(most == 0, 0, jnp.where(most <= shape.slots, 1, 2))
        gradient, memory, tally = jax.lax.switch(branch, [none, some, crowd], learner, minibatch)
        weights, optimiser = jax.vmap(_adam)(
            hyper.learning_rate, hyper.epsilon, gradient, learner.optimiser, learner.weights
        )
        tally = jax.vmap(functools.partial(_count_update, until))(tally)
        return Learner(weights, optimiser, memory, tally)

    over = learner.tally.updates[0] >= until.updates
    return jax.lax.cond(over, lambda learner: learner, learn, learner), None


def _gradient(
    layout: Layout, until: Until, learner: Learner, chunk, slots: Slots, ahead, form: AbstractForm
):
    """(Gradient, memory after the minibatch, tally) of one run."""

    def loss(weights):
        memory, logits = form.read(layout.network(weights), learner.memory, chunk, slots, ahead)
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, slots.label)
        count = jnp.maximum(jnp.sum(slots.valid), 1).astype(losses.dtype)
        return jnp.sum(jnp.where(slots.valid, losses, 0)) / count, (memory, logits)

    (value, (memory, logits)), gradient = jax.value_and_grad(loss, has_aux=True)(learner.weights)
    tally = _count(learner.tally, logits, slots, until)
    failed = ~jnp.isfinite(value) & (tally.diverged < 0)
    tally = tally._replace(diverged=jnp.where(failed, tally.updates, tally.diverged))
    return gradient, memory, tally


def _adam(learning_rate, epsilon, gradient, optimiser, weights):
    changes, optimiser = optax.adam(learning_rate, eps=epsilon).update(gradient, optimiser)
    return jnp.asarray(optax.apply_updates(weights, changes)), optimiser


def _count(tally: Tally, logits: Float[Array, "S classes"], slots: Slots, until: Until) -> Tally:
    """Count the results of one minibatch, in the order of its slots."""
    valid = slots.valid
    right = (jnp.argmax(logits, axis=-1) == slots.label) & valid
    # All outputs are within 0.3 of a one-hot target where the target's own is.
    target = jnp.take_along_axis(jax.nn.softmax(logits), slots.label[:, None], axis=1)[:, 0]
    sure = (target > 1 - WITHIN) & valid
    number = jnp.cumsum(valid, dtype=jnp.int32)  # of each result in this minibatch, from 1
    count = number[-1]
    counted = tally.sequences + number <= until.sequences
    weights = jnp.where(right, SMOOTHING ** (count - number).astype(logits.dtype), 0)
    smoothed = SMOOTHING ** count.astype(logits.dtype) * tally.smoothed
    smoothed = smoothed + (1 - SMOOTHING) * jnp.sum(weights)
    # Minibatches are shorter than the criterion: it is met in a run that began before.
    wrong = valid & ~sure
    before_wrong = jnp.min(jnp.where(wrong, number - 1, count))
    met = (tally.streak + before_wrong >= IN_A_ROW) & (tally.criterion < 0)
    at = tally.sequences + IN_A_ROW - tally.streak
    after_wrong = count - jnp.max(jnp.where(wrong, number, 0))
    streak = jnp.where(jnp.any(wrong), after_wrong, tally.streak + count)
    return tally._replace(
        sequences=tally.sequences + count,
        right=tally.right + jnp.sum(right & counted, dtype=jnp.int32),
        smoothed=smoothed,
        streak=streak,
        criterion=jnp.where(met, at, tally.criterion),
    )


def _count_update(until: Until, tally: Tally) -> Tally:
    """One update more; the curve's points lie evenly over all updates."""
    updates = tally.updates + 1
    share = updates.astype(tally.curve.dtype) / until.updates * POINTS
    point = jnp.maximum(jnp.ceil(share).astype(jnp.int32) - 1, 0)
    return tally._replace(updates=updates, curve=tally.curve.at[point].set(tally.smoothed))
