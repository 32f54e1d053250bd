"""The arrays of a group of runs: hyper-parameters, initial weights, streams."""

import enum
import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

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
from longpass.streams._stream import AnyArray, Cursor, StreamTask, start_stream
from longpass.streams._tally import init_tally
from longpass.streams._tasks import make_task
from longpass.streams._update import GroupHyperParams, GroupShape, Learner

# Settings that decide what the network is.
_NETWORK_SETTINGS = (
    *("task", "memory", "words_seed", "hidden_size", "state_size", "span"),
    *("pool_size", "num_pools", "viewport_size", "base", "normalise", "memory_options"),
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
    task = make_task(first.task, first.words_seed, first.span)
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


def learners_shape(
    settings: Sequence[StreamSettings], shape: GroupShape, dtype: DTypeLike
) -> PyTree[jax.ShapeDtypeStruct]:
    """As `init_learners`, with shapes and dtypes in the place of arrays: nothing is compiled."""
    layout = WeightLayout.of(rateless_shape(settings[0], dtype))
    weights = jax.ShapeDtypeStruct((layout.size,), dtype)
    parts: dict[str, Any] = {
        "weights": weights,
        "optimiser": jax.eval_shape(optax.adam(1.0).init, weights),
        "memory": jax.eval_shape(_make_init_memory(settings[0], shape, dtype), weights),
        "tally": init_tally(len(shape.task.classes), dtype),
    }
    return jax.tree.map(
        lambda leaf: jax.ShapeDtypeStruct((len(settings), *leaf.shape), leaf.dtype),
        Learner(**parts),
    )


def _init_learner(settings: StreamSettings, shape: GroupShape, dtype: DTypeLike) -> Learner:
    # Settings that do not matter for the network are left out: runs share the program.
    alike = StreamSettings(**{name: getattr(settings, name) for name in _NETWORK_SETTINGS})
    weights = np.asarray(_init_weights(alike, dtype, np.uint32(settings.seed)))
    moments = jax.eval_shape(optax.adam(1.0).init, weights)
    memory = jax.jit(_make_init_memory(settings, shape, dtype))(weights)
    return Learner(
        weights=weights,
        # Adam begins with zeros; made by NumPy, they need no program.
        optimiser=jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), moments),
        memory=jax.tree.map(np.asarray, memory),
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


def _make_init_memory(
    settings: StreamSettings, shape: GroupShape, dtype: DTypeLike
) -> Callable[[Float[AnyArray, " weights"]], PyTree[Array]]:
    """The function from weights to the empty memories of all streams."""
    layout = WeightLayout.of(rateless_shape(settings, dtype))
    network = network_shape(settings, dtype)
    readout = make_readout(network, shape.truncation, len(shape.task.alphabet))
    return lambda weights: readout.initial_state(layout.build(weights), shape.batch_size)


@functools.partial(jax.jit, static_argnums=(0, 1))
def _start_batches(
    task: StreamTask, count: int, seeds: UInt32[Array, " group"], purpose: UInt32[Array, ""]
) -> Cursor:
    def start_batch(seed: UInt32[Array, ""]) -> Cursor:
        key = jax.random.fold_in(jax.random.key(seed), purpose)
        return jax.vmap(functools.partial(start_stream, task))(jax.random.split(key, count))

    return jax.vmap(start_batch)(seeds)
