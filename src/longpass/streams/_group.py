"""The arrays of a group of runs: hyper-parameters, initial weights, streams."""

import enum
import functools
from collections.abc import Sequence
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.typing import DTypeLike
from jaxtyping import Array, Float, PyTree, UInt32

from longpass.streams._flat_weights import WeightLayout, flatten_weights
from longpass.streams._network import make_network, network_shape, rateless_shape
from longpass.streams._readout import make_readout
from longpass.streams._settings import StreamSettings
from longpass.streams._stream import Cursor, StreamTask, start_stream
from longpass.streams._tally import init_tally
from longpass.streams._tasks import make_task
from longpass.streams._update import GroupHyperParams, GroupShape, Learner

# Settings that decide what the network is.
_NETWORK_SETTINGS = (
    *("task", "memory", "words_seed", "hidden_size", "state_size"),
    *("pool_size", "num_pools", "viewport_size", "base", "normalise"),
)

Tree = TypeVar("Tree")


class StreamPurpose(enum.IntEnum):
    """What streams of one seed are for. Purpose 0 is the network's weights."""

    TRAINING = 1
    HELD_OUT = 2


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


def init_learners(
    settings: Sequence[StreamSettings], shape: GroupShape, dtype: DTypeLike
) -> Learner:
    """The learners of a group before the first update."""
    return stack([_init_learner(one, shape, dtype) for one in settings])


def start_streams(
    settings: Sequence[StreamSettings], shape: GroupShape, purpose: StreamPurpose
) -> Cursor:
    """The streams of a group: cursors (group, B)."""
    seeds = np.array([one.seed for one in settings], np.uint32)
    return _start_batches(shape.task, shape.batch_size, seeds, np.uint32(purpose))


def stack(trees: Sequence[Tree]) -> Tree:
    """Pytrees of one structure as one of NumPy arrays, with a new first axis."""
    return jax.tree.map(lambda *leaves: np.stack(leaves), *trees)


def _init_learner(settings: StreamSettings, shape: GroupShape, dtype: DTypeLike) -> Learner:
    # Settings that do not matter for the network are left out: runs share the program.
    alike = StreamSettings(**{name: getattr(settings, name) for name in _NETWORK_SETTINGS})
    weights = np.asarray(_init_weights(alike, dtype, np.uint32(settings.seed)))
    moments = jax.eval_shape(optax.adam(settings.learning_rate).init, weights)
    return Learner(
        weights=weights,
        # Adam begins with zeros; made by NumPy, they need no program.
        optimiser=jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), moments),
        memory=_init_memory(settings, shape, dtype, weights),
        tally=init_tally(len(shape.task.classes), dtype),
    )


# One program for all operations: one by one, each would be compiled on its own. It runs once, so
# that compiling it fast is worth more than running it fast.
@functools.partial(
    jax.jit,
    static_argnums=(0, 1),
    compiler_options={"xla_backend_optimization_level": 0},
)
def _init_weights(
    settings: StreamSettings, dtype: DTypeLike, seed: UInt32[Array, ""]
) -> Float[Array, " weights"]:
    return flatten_weights(make_network(settings, dtype, seed))


def _init_memory(
    settings: StreamSettings, shape: GroupShape, dtype: DTypeLike, weights: np.ndarray
) -> PyTree[np.ndarray]:
    layout = WeightLayout.of(rateless_shape(settings, dtype))
    network = network_shape(settings, dtype)
    readout = make_readout(network, shape.truncation, len(shape.task.alphabet))

    @jax.jit
    def initial_state(weights: Float[Array, " weights"]) -> PyTree[Array]:
        return readout.initial_state(layout.build(weights), shape.batch_size)

    return jax.tree.map(np.asarray, initial_state(weights))


@functools.partial(jax.jit, static_argnums=(0, 1))
def _start_batches(
    task: StreamTask, count: int, seeds: UInt32[Array, " group"], purpose: UInt32[Array, ""]
) -> Cursor:
    def start_batch(seed: UInt32[Array, ""]) -> Cursor:
        key = jax.random.fold_in(jax.random.key(seed), purpose)
        return jax.vmap(functools.partial(start_stream, task))(jax.random.split(key, count))

    return jax.vmap(start_batch)(seeds)
