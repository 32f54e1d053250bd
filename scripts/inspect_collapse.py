"""Look into a network with pools while it learns: which units are dead, and what grows.

Trains one run per learning rate and measures it now and then, at the labels of streams that it is
not trained on. Prints one row per measurement and appends one JSON line to a file:

    python scripts/inspect_collapse.py --settings.memory parallel --settings.base 2 \
        --settings.num-pools 8 --settings.seed 1 --learning-rates 3e-4 1e-3
"""

import dataclasses
import functools
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import tyro
from jaxtyping import Array, Float, Int

from longpass._fields import to_json
from longpass.memory import PooledMemory
from longpass.networks import Classifier
from longpass.records import Records, provenance
from longpass.streams import (
    NO_LABEL,
    Stream,
    StreamSettings,
    StreamTraining,
    WeightLayout,
    make_network,
    make_task,
    read_stream,
    start_stream,
)

STREAMS, STEPS = 64, 4096  # of the held-out streams; they have about 2,000 labels
WARM_UP = 1024  # their first steps, which only fill the pools
SEED = 12345  # of the held-out streams
COLUMNS = {
    "updates": "{:8.0f}",
    "accuracy": "{:6.3f}",
    "dead_viewports": "{:6.3f}",
    "dead_hidden": "{:6.3f}",
    "silent_labels": "{:6.3f}",
    "logit_spread": "{:8.4f}",
    "pool_rms": "{:8.3f}",
    "embedding_norm": "{:8.2f}",
    "viewport_norm": "{:8.2f}",
    "summariser_norm": "{:8.2f}",
    "gradient_rms": "{:9.1e}",
    "below_epsilon": "{:6.3f}",
}


@dataclasses.dataclass
class Inspect:
    """Train runs that differ in their learning rate and measure them."""

    settings: StreamSettings
    learning_rates: tuple[float, ...] = (3e-4, 1e-3)
    """One run per learning rate."""
    measurements: int = 12
    """Measurements per run, at times that grow by one factor."""
    out: Path = Path("results/defaults/collapse.jsonl")
    """The file that one line per measurement is appended to."""


@functools.partial(jax.jit, static_argnums=0)
def read_held_out(layout: WeightLayout, weights: Float[Array, " weights"], stream: Stream):
    """What units do at every step.

    **Returns:** (pools, viewports, hidden layer, logits), each of shape (B, steps, ...).
    """
    network = layout.build(weights)
    memory = network.memory
    assert isinstance(memory, PooledMemory)
    xs = network.embed(jax.nn.one_hot(stream.symbols, network.num_symbols))
    # Pools multiply their input by a_1, in whose place the memory has its matrix.
    inputs = xs @ memory.write.T / memory.filters.rates[0]
    pools = jax.vmap(lambda one: memory.filters.unroll(memory.initial_state(), one)[1])(inputs)
    reader = memory.reader
    views = jax.vmap(jax.vmap(reader.view_all))(pools)
    if reader.input_viewport is not None:
        views = jnp.concatenate([xs @ reader.input_viewport.T, views], axis=-1)
    seen = jax.nn.relu(views + reader.viewport_bias)
    hidden = memory.read(pools, xs)
    return pools, seen, hidden, network.classify(hidden)


def draw_held_out(settings: StreamSettings) -> Stream:
    """Streams of the task, of shape (STREAMS, STEPS); labels of the first steps are left out."""
    task = make_task(settings.task, settings.words_seed)
    keys = jax.random.split(jax.random.key(SEED), STREAMS)
    stream = jax.vmap(lambda key: read_stream(task, start_stream(task, key), STEPS)[1])(keys)
    labels: Int[Array, "streams steps"] = jnp.where(jnp.arange(STEPS) < WARM_UP, -1, stream.labels)
    return stream._replace(labels=labels)


def measure(training: StreamTraining, layout: WeightLayout, stream: Stream) -> dict[str, float]:
    """The state of a run in numbers.

    - `dead_viewports`, `dead_hidden`: the fraction of units that are 0 at every label.
    - `silent_labels`: the fraction of labels at which the whole hidden layer is 0.
    - `logit_spread`: the standard deviation of logits over labels; 0: the input has no effect.
    - `gradient_rms`: of a weight, from Adam's second moment.
    - `below_epsilon`: the fraction of weights whose second moment's root is below epsilon.
    """
    settings = training.settings[0]
    weights = jnp.asarray(training.learner.weights[0])
    labelled = np.asarray(stream.labels) != NO_LABEL
    labels = np.asarray(stream.labels)[labelled]
    parts = read_held_out(layout, weights, stream)
    pools, seen, hidden, logits = (np.asarray(part)[labelled] for part in parts)
    moments = training.learner.optimiser[0]
    root = np.sqrt(np.asarray(moments.nu[0]) / (1 - 0.999 ** max(1, int(moments.count[0]))))
    network: Classifier = layout.build(weights)
    reader = network.memory.reader  # pyright: ignore[reportAttributeAccessIssue]
    written = [network.memory.write]  # pyright: ignore[reportAttributeAccessIssue]
    if network.embedding is not None:
        written = [network.embedding.weight, network.embedding.bias]
    found: dict[str, Any] = {
        "updates": training.updates,
        "accuracy": np.mean(np.argmax(logits, axis=-1) == labels),
        "dead_viewports": np.mean(np.all(seen == 0, axis=0)),
        "dead_hidden": np.mean(np.all(hidden == 0, axis=0)),
        "silent_labels": np.mean(np.all(hidden == 0, axis=1)),
        "logit_spread": np.mean(np.std(logits, axis=0)),
        "pool_rms": np.sqrt(np.mean(pools**2)),
        "embedding_norm": _norm(*written),
        "viewport_norm": _norm(reader.viewports),
        "summariser_norm": _norm(reader.summariser),
        "gradient_rms": np.sqrt(np.mean(root**2)),
        "below_epsilon": np.mean(root < settings.epsilon),
        "smoothed_accuracy": training.smoothed_accuracies[0],
        "labels": len(labels),
    }
    return {name: float(f"{float(value):.6g}") for name, value in found.items()}


def _norm(*arrays: Array) -> float:
    return float(np.sqrt(sum(np.sum(np.asarray(array) ** 2) for array in arrays)))


def main() -> None:
    inspect = tyro.cli(Inspect, description=__doc__)
    records = Records(inspect.out)
    stream = draw_held_out(inspect.settings)
    for rate in inspect.learning_rates:
        settings = dataclasses.replace(inspect.settings, learning_rate=rate).resolved()
        layout = WeightLayout.of(make_network(settings, jnp.float32))
        training = StreamTraining([settings])
        times = np.geomspace(1000, settings.updates, inspect.measurements - 1)
        print(f"learning rate {rate:g}", *COLUMNS, sep="  ", flush=True)
        for time in [0, *times]:
            while training.updates < min(time, settings.updates):
                training.learn_block()
            found = measure(training, layout, stream)
            print(*(form.format(found[name]) for name, form in COLUMNS.items()), flush=True)
            seconds = round(training.seconds, 1)
            line = {"settings": to_json(settings), **found, "seconds": seconds}
            records.append([line | provenance()])


if __name__ == "__main__":
    main()
