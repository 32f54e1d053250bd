"""Compare variants of parallel filters, in what the paper leaves open, by a small learner in JAX.

Each variant is trained with several learning rates and seeds. One JSON line per run is appended to
a file, and runs that are in it are not run again:

    python scripts/compare_variants.py --settings.symbols 1.2e7
"""

import dataclasses
import functools
import itertools
import time
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
import tyro
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from longpass._fields import to_json
from longpass.memory import PooledMemory
from longpass.networks import Classifier
from longpass.records import Records, provenance
from longpass.streams import (
    NO_LABEL,
    Cursor,
    Stream,
    StreamSettings,
    StreamTask,
    WeightLayout,
    make_network,
    make_task,
    read_stream,
    start_stream,
)

STEPS = 1024  # of each stream that are drawn at once
HELD_OUT = 10  # draws that accuracy is measured on: about 3,000 sequences with 32 streams

Variant = Literal["ours", "no-bias", "zero-bias", "first-pool", "skip-steps", "no-input"]
"""How a network or its training differs from ours:

- no-bias: the embedding has no bias.
- zero-bias: the bias of the embedding begins at 0, as that of longpass does since. Here "ours" and
  all other variants begin with a random one.
- first-pool: the learned matrix writes into pool 1 only, as the paper draws it; the other pools
  filter the embedding itself.
- skip-steps: Adam takes no step in minibatches without a label.
- no-input: the reader does not see the input.
"""


@dataclasses.dataclass
class Compare:
    """Train variants of parallel filters."""

    settings: StreamSettings
    variants: tuple[Variant, ...] = get_args(Variant)
    """Which ones."""
    learning_rates: tuple[float, ...] = (1e-4, 3e-4, 1e-3)
    """Adam's learning rates."""
    seeds: int = 2
    """Runs per variant and learning rate, with seeds from 0."""
    out: Path = Path("results/defaults/variants.jsonl")
    """The file that one line per run is appended to."""


class Learner(NamedTuple):
    """What changes while a run learns."""

    weights: Float[Array, " weights"]
    optimiser: PyTree[Array]
    pools: Float[Array, "B k size"]


class Chunk(NamedTuple):
    """The labels of a minibatch, packed: which of its symbols have one, and which."""

    symbols: Int[Array, "T B"]
    place: Int[Array, " slots"]
    label: Int[Array, " slots"]
    valid: Bool[Array, " slots"]


def read_labels(variant: Variant, network: Classifier, pools: Array, chunk: Chunk):
    """Pass a minibatch through the pools and read them where labels are.

    **Returns:** (pools after the minibatch, logits of shape (slots, classes)).
    """
    memory, embedding = network.memory, network.embedding
    assert isinstance(memory, PooledMemory)
    assert embedding is not None
    assert embedding.bias is not None
    rates = jnp.array(memory.filters.rates)[:, None]
    xs = embedding.weight.T[chunk.symbols]
    if variant != "no-bias":
        xs = xs + embedding.bias
    history = []
    for x in xs:
        written = x @ memory.write.T
        first = (1 - rates[0]) * pools[:, 0] + written
        source = x if variant == "first-pool" else written / rates[0]
        # Gradients pass through pool 1 only.
        rest = jax.lax.stop_gradient((1 - rates[1:]) * pools[:, 1:] + rates[1:] * source[:, None])
        pools = jnp.concatenate([first[:, None], rest], axis=1)
        history.append(pools)
    found = jnp.concatenate(history)[chunk.place]
    seen = xs.reshape(-1, xs.shape[-1])[chunk.place]
    return pools, network.classify(memory.read(found, seen))


def split_stream(stream: Stream, truncation: int, slots: int) -> Chunk:
    """The minibatches in a piece of streams, (steps, B); labels beyond `slots` are left out."""
    batch = stream.symbols.shape[1]
    symbols = jnp.asarray(stream.symbols).reshape(-1, truncation, batch)
    labels = jnp.asarray(stream.labels).reshape(-1, truncation * batch)
    place = jax.vmap(lambda one: jnp.nonzero(one != NO_LABEL, size=slots, fill_value=-1)[0])(labels)
    label = jnp.take_along_axis(labels, place, axis=1)
    return Chunk(symbols.astype(jnp.int32), place, jnp.maximum(label, 0), place >= 0)


@functools.partial(jax.jit, static_argnums=(0, 1))
def learn(
    variant: Variant,
    layout: WeightLayout,
    learner: Learner,
    learning_rate: Float[Array, ""],
    epsilon: Float[Array, ""],
    chunks: Chunk,
) -> tuple[Learner, Int[Array, " minibatches"]]:
    """Learn from minibatches. **Returns:** (the learner, how many labels were right in each)."""
    adam = optax.adam(learning_rate, eps=epsilon)

    def loss(weights: Array, pools: Array, chunk: Chunk):
        pools, logits = read_labels(variant, layout.build(weights), pools, chunk)
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, chunk.label)
        mean = jnp.sum(jnp.where(chunk.valid, losses, 0)) / jnp.maximum(jnp.sum(chunk.valid), 1)
        right = jnp.sum((jnp.argmax(logits, axis=-1) == chunk.label) & chunk.valid)
        return mean, (pools, right)

    def step(gradient: Array, learner: Learner, pools: Array) -> Learner:
        changes, optimiser = adam.update(gradient, learner.optimiser)
        weights = jnp.asarray(optax.apply_updates(learner.weights, changes))
        return Learner(weights, optimiser, pools)

    def with_labels(learner: Learner, chunk: Chunk):
        gradient, (pools, right) = jax.grad(loss, has_aux=True)(
            learner.weights, learner.pools, chunk
        )
        return step(gradient, learner, pools), right

    def without_labels(learner: Learner, chunk: Chunk):
        network = layout.build(learner.weights)
        pools, _ = read_labels(variant, network, learner.pools, chunk)
        if variant != "skip-steps":
            learner = step(jnp.zeros_like(learner.weights), learner, pools)
        return learner._replace(pools=pools), jnp.int32(0)

    def update(learner: Learner, chunk: Chunk):
        return jax.lax.cond(chunk.valid[0], with_labels, without_labels, learner, chunk)

    return jax.lax.scan(update, learner, chunks)


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def draw(task: StreamTask, truncation: int, slots: int, cursors: Cursor) -> tuple[Cursor, Chunk]:
    """The next `STEPS` symbols of all streams, as minibatches."""
    steps = STEPS // truncation * truncation
    cursors, stream = jax.vmap(functools.partial(read_stream, task, steps=steps), out_axes=(0, 1))(
        cursors
    )
    return cursors, split_stream(stream, truncation, slots)


def start(task: StreamTask, key: PRNGKeyArray, count: int) -> Cursor:
    """Start `count` streams."""
    return jax.vmap(functools.partial(start_stream, task))(jax.random.split(key, count))


def _draw_bias(key: PRNGKeyArray, embedding: eqx.nn.Linear) -> Array:
    """The bias that the embedding of a network with this key had as an `eqx.nn.Linear`."""
    embedding_key, *_ = jax.random.split(key, 4)
    plain = eqx.nn.Linear(embedding.in_features, embedding.out_features, key=embedding_key)
    assert plain.bias is not None
    return plain.bias


def train(variant: Variant, settings: StreamSettings) -> dict[str, Any]:
    """Train one run. **Returns:** held-out accuracy, updates and seconds."""
    began = time.monotonic()
    task = make_task(settings.task, settings.words_seed)
    network = make_network(settings, jnp.float32)
    if variant == "no-input":
        network = _without_input(network)
    if variant != "zero-bias":
        key = jax.random.fold_in(jax.random.key(settings.seed), 0)
        assert network.embedding is not None
        bias = _draw_bias(key, network.embedding)
        network = eqx.tree_at(lambda network: network.embedding.bias, network, bias)
    layout = WeightLayout.of(network)
    arrays = jax.tree.leaves(eqx.filter(network, eqx.is_array))
    weights = jnp.concatenate([array.ravel() for array in arrays])
    pools = network.memory.initial_state((settings.batch_size,))
    learner = Learner(weights, optax.adam(1.0).init(weights), pools)
    # Ten times as many slots as labels on average, and eight more: never too few in practice.
    slots = min(settings.minibatch, 8 + 10 * settings.minibatch // task.shortest)
    rate, epsilon = jnp.float32(settings.learning_rate), jnp.float32(settings.epsilon)
    training, held_out = jax.random.split(jax.random.key(settings.seed + 1000))
    cursors, updates = start(task, training, settings.batch_size), 0
    while updates < settings.updates:
        cursors, chunks = draw(task, settings.truncation, slots, cursors)
        learner, _ = learn(variant, layout, learner, rate, epsilon, chunks)
        updates += len(chunks.valid)
    right = count = 0
    cursors = start(task, held_out, settings.batch_size)
    for _ in range(HELD_OUT):
        cursors, chunks = draw(task, settings.truncation, slots, cursors)
        learner, found = learn(variant, layout, learner, jnp.float32(0), epsilon, chunks)
        right, count = right + int(found.sum()), count + int(chunks.valid.sum())
    seconds = round(time.monotonic() - began, 1)
    return {"accuracy": right / count, "held_out": count, "updates": updates, "seconds": seconds}


def _without_input(network: Classifier) -> Classifier:
    """The network whose reader sees pools only, with the same other weights."""
    reader = network.memory.reader  # pyright: ignore[reportAttributeAccessIssue]
    size = reader.input_viewport.shape[0]
    return eqx.tree_at(
        lambda network: (
            network.memory.reader.input_viewport,
            network.memory.reader.viewport_bias,
            network.memory.reader.summariser,
        ),
        network,
        (None, reader.viewport_bias[size:], reader.summariser[:, size:]),
    )


def main() -> None:
    compare = tyro.cli(Compare, description=__doc__)
    records = Records(compare.out)
    done = [(line["variant"], line["settings"]) for line in records.read()]
    grid = itertools.product(range(compare.seeds), compare.variants, compare.learning_rates)
    for seed, variant, rate in grid:
        changes = {"memory": "parallel", "learning_rate": rate, "seed": seed}
        settings = dataclasses.replace(compare.settings, **changes).resolved()
        if (variant, to_json(settings)) in done:
            continue
        found = train(variant, settings)
        line = {"variant": variant, "settings": to_json(settings), **found, **provenance()}
        records.append([line])
        accuracy, seconds = found["accuracy"], found["seconds"]
        print(f"{variant:11} {rate:7.0e} seed {seed}: {accuracy:.3f} ({seconds} s)", flush=True)


if __name__ == "__main__":
    main()
