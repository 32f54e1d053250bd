"""Symbols a second of sequence classification against a plain form and PyTorch's.

Ours draw their symbols as they go; PyTorch and the plain form are given theirs. All run in one
process: PyTorch with one thread, JAX as it is by default.
"""

import dataclasses
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch
from rich.console import Console
from rich.table import Table

from benchmarks._timing import machine, time_in_turn
from benchmarks._torch_classifier import TorchChain, TorchLearner, TorchLSTM
from longpass.networks import MemoryName
from longpass.streams import Group, Layout, PlainLearner, StreamSettings, make_network, plain_learn
from longpass.streams._update import draw

# (batch, truncation, times PyTorch's rate that the chain is to reach)
SIZES = ((4, 2, 40), (32, 2, 30), (32, 16, 100), (32, 128, 250), (128, 256, 80))
TOGETHER = 8
SECONDS = 12.0
WHOLE = 40_000_000  # symbols of a whole run


def settings_of(memory: MemoryName, batch: int, truncation: int) -> StreamSettings:
    own: dict[str, Any] = {"k": 8, "V": 10, "b": 2.0} if memory == "chain" else {}
    return StreamSettings(memory=memory, batch_size=batch, truncation=truncation, D=24, M=32, **own)


def ours(settings: StreamSettings, together: int) -> tuple[Callable[[], object], int]:
    """(A call that learns from one block, how many symbols are in it)."""
    group = Group([dataclasses.replace(settings, seed=seed) for seed in range(together)])

    def call() -> None:
        if group.done:  # begin again: a run that is over does nothing
            tally = group.state[0].tally._replace(updates=jnp.zeros(together, jnp.int32))
            group.state = (group.state[0]._replace(tally=tally), group.state[1])
        group.advance(0.0)
        jax.block_until_ready(group.state[0].weights)

    return call, group.shape.steps * settings.batch_size * together


def piece_of(settings: StreamSettings) -> Any:
    """A block of streams for those that are given theirs."""
    group = Group([settings])
    _, stream = draw(group.shape.task, group.shape.steps, group.state[1])
    return jax.tree.map(lambda leaf: leaf[0], stream)


def plainly(settings: StreamSettings) -> tuple[Callable[[], object], int]:
    settings = settings.resolved()
    network = make_network(settings, jnp.float32)
    stream = piece_of(settings)
    weights = Group([settings]).state[0].weights[0]
    memory = network.memory.initial_state((settings.batch_size,))
    learner = PlainLearner(weights, optax.adam(1.0).init(weights), memory)
    layout = Layout.of(network)
    rates = (jnp.float32(settings.learning_rate), jnp.float32(settings.epsilon))

    def call() -> object:
        done = plain_learn(layout, settings.truncation, False, learner, *rates, stream)
        return jax.block_until_ready(done)

    return call, stream.symbols.size


def torch_form(settings: StreamSettings) -> tuple[Callable[[], object], int]:
    stream = piece_of(settings)
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
        "memory", "batch x T", "alone", f"{TOGETHER} at once", "plain form", "PyTorch",
        "best / plain", "best / PyTorch", "target",
        title="sequence classification: thousand symbols a second",
        caption=f"D 24, k 8, V 10, M 32, b 2, float32; {machine()}, JAX {jax.__version__}, "
        f"PyTorch {torch.__version__}",
    )  # fmt: skip
    memories: tuple[MemoryName, ...] = ("chain", "lstm")
    for memory in memories:
        for batch, truncation, target in SIZES:
            row = measure(memory, batch, truncation)
            row["target"] = target if memory == "chain" else 1
            best = max(row["alone"], row["together"])
            table.add_row(
                memory,
                f"{batch} x {truncation}",
                *(f"{row[name] / 1e3:,.0f}" for name in ("alone", "together", "plain")),
                f"{row['torch'] / 1e3:,.1f}",
                f"{best / row['plain']:.1f}x",
                f"{best / row['torch']:.1f}x",
                f"{row['target']}x",
            )
            rows.append(row)
    console.print(table)
    return {"rates": rows, "whole": [whole(console, *size[:2]) for size in SIZES[3:]]}


def measure(memory: MemoryName, batch: int, truncation: int) -> dict[str, Any]:
    settings = settings_of(memory, batch, truncation)
    forms = {
        "alone": ours(settings, 1),
        "together": ours(settings, TOGETHER),
        "plain": plainly(settings),
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
    group = Group([settings])
    group.advance(0.0)
    compiled = time.perf_counter()
    group.advance(1e9)
    jax.block_until_ready(group.state[0].weights)
    learned = time.perf_counter()
    (score,) = group.finish()
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
        f"after {result['compile']:.1f} s of compiling; held-out accuracy {score.accuracy:.4f}"
    )
    return result
