"""What is measured of trained networks besides accuracy on their own task.

How they do on longer sequences than they were trained on, and how far back they look.
"""

import functools
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from longpass.memory import mean_lag, measure_lags
from longpass.streams._flat_weights import WeightLayout
from longpass.streams._network import network_shape
from longpass.streams._settings import StreamSettings
from longpass.streams._stream import AnyArray, StreamTask
from longpass.streams._tasks import make_task

_SEED = 7  # of the sequences that are measured on
_LAG_SEQUENCES = 4


def measure_accuracy(
    settings: Sequence[StreamSettings],
    weights: Float[AnyArray, "group weights"],
    span: int,
    count: int = 512,
) -> list[float]:
    """The accuracy of trained networks on single sequences of another length.

    Each sequence begins with an empty memory.

    **Arguments:**

    - `settings`: of runs of one shape, complete.
    - `weights`: of each run.
    - `span`: of the sequences.
    - `count`: number of sequences.

    **Returns:** the accuracy of each run.
    """
    task = make_task(settings[0].task, settings[0].words_seed, span)
    return [
        float(_accuracy(_layout(one), task, count, jnp.asarray(own)))
        for one, own in zip(settings, weights, strict=True)
    ]


def measure_mean_lag(
    settings: Sequence[StreamSettings], weights: Float[AnyArray, "group weights"]
) -> list[float]:
    """How many steps back the memory's output at a label depends on symbols, on average.

    The mean is weighted by the norm of the Jacobian (see `longpass.memory.measure_lags`).

    **Arguments:**

    - `settings`: of runs of one shape, complete.
    - `weights`: of each run.

    **Returns:** the mean lag of each run, in steps.
    """
    first = settings[0]
    task = make_task(first.task, first.words_seed, first.span)
    return [
        float(_lag(_layout(one), task, jnp.asarray(own)))
        for one, own in zip(settings, weights, strict=True)
    ]


def _layout(settings: StreamSettings) -> WeightLayout:
    """Of the whole network, rates of pools included."""
    return WeightLayout.of(network_shape(settings, jnp.float32))


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def _accuracy(
    layout: WeightLayout, task: StreamTask, count: int, weights: Float[Array, " weights"]
) -> Float[Array, ""]:
    network = layout.build(weights)
    drawn = jax.vmap(task.sequence)(jax.random.split(jax.random.key(_SEED), count))
    symbols = jax.nn.one_hot(drawn.symbols.T, network.num_symbols, dtype=network.memory.dtype)
    states = network.memory.initial_state((count,))
    _, outputs = network.memory.unroll_batch(states, network.embed(symbols))
    logits = network.classify(outputs[drawn.length - 1, jnp.arange(count)])
    return jnp.mean((jnp.argmax(logits, axis=-1) == drawn.label).astype(weights.dtype))


@functools.partial(jax.jit, static_argnums=(0, 1))
def _lag(
    layout: WeightLayout, task: StreamTask, weights: Float[Array, " weights"]
) -> Float[Array, ""]:
    network = layout.build(weights)
    keys = jax.random.split(jax.random.key(_SEED), _LAG_SEQUENCES)
    symbols = jax.vmap(task.sequence)(keys).symbols[:, : task.shortest]
    inputs = network.embed(jax.nn.one_hot(symbols, network.num_symbols, dtype=weights.dtype))
    return jnp.mean(jax.vmap(lambda xs: mean_lag(measure_lags(network.memory, xs)))(inputs))


def round_all(values: Sequence[float]) -> list[float | None]:
    """Values for a record: 4 digits, None if they are not finite."""
    return [round(value, 4) if np.isfinite(value) else None for value in values]
