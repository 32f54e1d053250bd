"""The arrays of a group of runs: hyper-parameters, initial weights, streams."""

import functools
from collections.abc import Sequence
from typing import TypeVar

import jax
import jax.numpy as jnp
import optax
from jax.typing import DTypeLike
from jaxtyping import PRNGKeyArray

from longpass.streams._flat_weights import flatten_weights
from longpass.streams._network import make_network, network_shape, remove_rates
from longpass.streams._readout import make_readout
from longpass.streams._settings import StreamSettings
from longpass.streams._stream import Cursor, StreamTask, start_stream
from longpass.streams._tally import init_tally
from longpass.streams._tasks import make_task
from longpass.streams._update import GroupHyperParams, GroupShape, Learner

GroupState = tuple[Learner, Cursor]
"""(Learner, cursors of the streams) of a group: all that changes while it is trained."""

Tree = TypeVar("Tree")


def make_shape(settings: Sequence[StreamSettings]) -> GroupShape:
    """What runs of a group share. ValueError if they differ in more than a group may."""
    first = settings[0]
    if any(one.group_key != first.group_key for one in settings):
        raise ValueError(
            "the runs of a group are not alike: they must differ in seed, learning_rate, epsilon "
            "and base only"
        )
    task = make_task(first.task, first.words_seed)
    return GroupShape(task, first.truncation, first.batch_size, first.clear_state)


def make_hyper(
    settings: Sequence[StreamSettings], shape: GroupShape, dtype: DTypeLike
) -> GroupHyperParams:
    """The hyper-parameters of a group."""
    symbols = len(shape.task.alphabet)
    return stack(
        [
            GroupHyperParams(
                learning_rate=jnp.asarray(one.learning_rate, dtype),
                epsilon=jnp.asarray(one.epsilon, dtype),
                readout=make_readout(network_shape(one, dtype), shape.truncation, symbols),
            )
            for one in settings
        ]
    )


def init_state(
    settings: Sequence[StreamSettings], shape: GroupShape, dtype: DTypeLike
) -> GroupState:
    """The state of a group before its first update."""
    learners = stack([_init_learner(one, shape, dtype) for one in settings])
    return learners, start_training_streams(settings, shape)


def start_training_streams(settings: Sequence[StreamSettings], shape: GroupShape) -> Cursor:
    """The streams that a group is trained on: cursors (group, B)."""
    return _start_streams(settings, shape, 1)


def start_held_out_streams(settings: Sequence[StreamSettings], shape: GroupShape) -> Cursor:
    """Other streams, which accuracy is measured on."""
    return _start_streams(settings, shape, 2)


def stack(trees: Sequence[Tree]) -> Tree:
    """Pytrees of one structure as one, with a new first axis."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


def _init_learner(settings: StreamSettings, shape: GroupShape, dtype: DTypeLike) -> Learner:
    network = make_network(settings, dtype)
    readout = make_readout(network, shape.truncation, len(shape.task.alphabet))
    weights = flatten_weights(network)
    return Learner(
        weights=weights,
        optimiser=optax.adam(settings.learning_rate).init(weights),
        memory=readout.initial_state(remove_rates(network), shape.batch_size),
        tally=init_tally(len(shape.task.classes), dtype),
    )


def _start_streams(settings: Sequence[StreamSettings], shape: GroupShape, purpose: int) -> Cursor:
    keys = [jax.random.fold_in(jax.random.key(one.seed), purpose) for one in settings]
    return stack([_start_batch(shape.task, shape.batch_size, key) for key in keys])


@functools.partial(jax.jit, static_argnums=(0, 1))
def _start_batch(task: StreamTask, count: int, key: PRNGKeyArray) -> Cursor:
    return jax.vmap(functools.partial(start_stream, task))(jax.random.split(key, count))
