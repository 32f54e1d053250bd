"""Symbols per second of sequence classification against the reference learner and PyTorch.

Ours draws its symbols while it learns; PyTorch and the reference are given theirs. All run in one
process: PyTorch and native code with one thread, JAX as it is by default.
"""

import dataclasses
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from benchmarks._timing import machine, time_in_turn
from benchmarks._torch_classifier import TorchChain, TorchLearner, TorchLSTM
from longpass.memory import MemoryName
from longpass.streams import (
    LearnerName,
    Stream,
    StreamSettings,
    StreamTraining,
    WeightLayout,
    init_reference,
    learn_reference,
    make_network,
    make_task,
    read_stream,
    start_stream,
)

# (batch, truncation, times PyTorch's rate that the chain is to reach)
SIZES = ((4, 2, 40), (32, 2, 30), (32, 16, 100), (32, 128, 250), (128, 256, 80))
TOGETHER = 8
SECONDS = 12.0
WHOLE = 40_000_000  # symbols of a whole run


def settings_of(memory: MemoryName, batch: int, truncation: int) -> StreamSettings:
    own: dict[str, Any] = {"state_size": 24}
    if memory == "chain":
        own = {"pool_size": 24, "num_pools": 8, "viewport_size": 10, "base": 2.0}
    return StreamSettings(
        memory=memory, batch_size=batch, truncation=truncation, hidden_size=32, **own
    )


def ours(
    settings: StreamSettings, learner: LearnerName, together: int = 1
) -> tuple[Callable[[], object], int]:
    """(A call that learns from one block, how many symbols are in it)."""
    # More than a measurement can take: a run that is complete would do nothing.
    settings = dataclasses.replace(settings, symbols=2**30 * settings.minibatch)
    group = [dataclasses.replace(settings, seed=seed) for seed in range(together)]
    training = StreamTraining(group, learner=learner)

    def call() -> None:
        training.learn_block()
        jax.block_until_ready(training.learner.weights)

    return call, training.shape.steps * settings.batch_size * together


def make_piece(settings: StreamSettings) -> Stream:
    """A block of streams, (steps, B), for those that are given theirs."""
    task = make_task(settings.task)
    steps = StreamTraining([settings]).shape.steps
    keys = jax.random.split(jax.random.key(settings.seed), settings.batch_size)

    def read(key: jax.Array) -> Stream:
        return read_stream(task, start_stream(task, key), steps)[1]

    return jax.jit(jax.vmap(read, out_axes=1))(keys)


def reference(settings: StreamSettings) -> tuple[Callable[[], object], int]:
    settings = settings.resolved()
    network = make_network(settings, jnp.float32)
    stream = make_piece(settings)
    learner = init_reference(network, settings.batch_size)
    layout = WeightLayout.of(network)
    rates = (jnp.float32(settings.learning_rate), jnp.float32(settings.epsilon))

    def call() -> object:
        done = learn_reference(layout, settings.truncation, False, learner, *rates, stream)
        return jax.block_until_ready(done)

    return call, stream.symbols.size


def torch_form(settings: StreamSettings) -> tuple[Callable[[], object], int]:
    stream = make_piece(settings)
    shape = (-1, settings.truncation, settings.batch_size)
    symbols = torch.from_numpy(np.array(stream.symbols, np.int64)).reshape(shape)
    labels = torch.from_numpy(np.array(stream.labels, np.int64)).reshape(shape)
    chunks = list(zip(symbols, labels, strict=True))
    network = TorchChain(8, 4, 24, 8, 10, 32, 2.0)
    if settings.memory == "lstm":
        network = TorchLSTM(8, 4, 24, 32)
    learner = TorchLearner(network, 8, chunks)
    number = 0

    def call() -> None:
        nonlocal number
        learner.update(number)
        number += 1

    return call, settings.minibatch


def main(console: Console) -> dict:
    torch.set_num_threads(1)
    rows = []
    table = Table(
        "memory", "batch x T", "native", "JAX", f"JAX, {TOGETHER} at once", "reference", "PyTorch",
        "native / JAX", "native / reference", "native / PyTorch", "target",
        title="sequence classification: thousand symbols per second",
        caption="pool_size and state_size 24, num_pools 8, viewport_size 10, hidden_size 32, "
        f"base 2, float32; {machine()}, JAX {jax.__version__}, PyTorch {torch.__version__}",
    )  # fmt: skip
    memories: tuple[MemoryName, ...] = ("chain", "lstm")
    for memory in memories:
        for batch, truncation, target in SIZES:
            row = measure(memory, batch, truncation)
            row["target"] = target if memory == "chain" else 1
            names = ("native", "jax", "together", "reference")
            native = row["native"]
            table.add_row(
                memory,
                f"{batch} x {truncation}",
                *(f"{row[name] / 1e3:,.0f}" for name in names),
                f"{row['torch'] / 1e3:,.1f}",
                f"{native / max(row['jax'], row['together']):.1f}x",
                f"{native / row['reference']:.1f}x",
                f"{native / row['torch']:.1f}x",
                f"{row['target']}x",
            )
            rows.append(row)
    console.print(table)
    return {"rates": rows, "whole": [whole(console, *size[:2]) for size in SIZES[3:]]}


def measure(memory: MemoryName, batch: int, truncation: int) -> dict[str, Any]:
    settings = settings_of(memory, batch, truncation)
    forms = {
        "native": ours(settings, "native"),
        "jax": ours(settings, "jax"),
        "together": ours(settings, "jax", TOGETHER),
        "reference": reference(settings),
        "torch": torch_form(settings),
    }
    seconds = time_in_turn({name: call for name, (call, _) in forms.items()}, SECONDS)
    rates = {name: count / seconds[name] for name, (_, count) in forms.items()}
    return {"memory": memory, "batch": batch, "truncation": truncation, **rates}


def whole(console: Console, batch: int, truncation: int) -> dict[str, Any]:
    """A run of the paper's length, from settings to score."""
    jax.clear_caches()
    began = time.perf_counter()
    settings = dataclasses.replace(settings_of("chain", batch, truncation), symbols=WHOLE)
    training = StreamTraining([settings])
    training.learn_block()
    jax.block_until_ready(training.learner.weights)
    compiled = time.perf_counter()
    while not training.done:
        training.learn_block()
    learned = time.perf_counter()
    (score,) = training.scores()
    result = {
        "batch": batch,
        "truncation": truncation,
        "symbols": score.symbols,
        "compile": compiled - began,
        "seconds": learned - compiled,
        "accuracy": score.accuracy,
    }
    console.print(
        f"chain {batch} x {truncation}: {score.symbols:,} symbols in {result['seconds']:.1f} s "
        f"after {result['compile']:.1f} s of preparation; held-out accuracy {score.accuracy:.4f}"
    )
    return result
