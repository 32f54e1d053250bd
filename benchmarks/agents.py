"""Acting and learning together: frames and optimiser steps per CPU-second of whole agents.

Ours have the settings of each task (`resolve_settings`); the peer is a plain PyTorch agent with an
LSTM (see `_torch_agent.py`) on the same worlds through Gymnasium, with the same copies, slices and
`block_every`. All run in turn in one process with one thread, as the workers of campaigns do.
"""

import dataclasses
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks._timing import machine
from longpass.jobs import single_threaded_environment

SECONDS = 4.0
PEER = "PyTorch LSTM"
TARGETS = {"chain": 8.0, "lstm": 5.0}
"""How many times the rate of the PyTorch agent."""
# World, copies, block_every: each is measured with both memories and the peer. An LSTM has two
# copies on the T-maze by default.
CASES = (
    ("cued-catch", 8, 20),
    ("cued-catch", 8, 300),
    ("t-maze", 8, 20),
    ("t-maze", 2, 300),
    ("sequence-recall", 8, 20),
)
GYM_IDS = {"cued-catch": "CuedCatch", "t-maze": "TMaze", "sequence-recall": "SequenceRecall"}


@dataclasses.dataclass(frozen=True)
class Row:
    """One agent; rates are per CPU-second."""

    agent: str
    world: str
    copies: int
    block_every: int
    frames: float
    optimiser_steps: float


def measure(world: str, copies: int, block_every: int) -> list[Row]:
    """Both memories and the PyTorch agent in one setting."""
    import jax

    from longpass.agents import hyper_arrays, make_trainer, resolve_settings

    rows = []
    settings = None
    for memory in TARGETS:
        overrides = {"memory": memory, "block_every": block_every, "envs": copies}
        run = resolve_settings(world, None, overrides)
        trainer, hyper, settings = (
            make_trainer(run),
            hyper_arrays(run.agent.hyper),
            run.agent.learner,
        )
        state = trainer.start(jax.random.key(0))
        updates = settings.updates_per_call

        def train(trainer=trainer, hyper=hyper, updates=updates) -> None:
            nonlocal state
            state, result = trainer.train_steps(state, hyper, updates)
            jax.block_until_ready(result)

        seconds = [call / updates for call in _cpu_seconds(train)]
        rows.append(_row(memory, world, block_every, settings, seconds))
    assert settings is not None
    return [*rows, _measure_torch(world, block_every, settings)]


def _measure_torch(world: str, block_every: int, settings: Any) -> Row:
    import gymnasium
    import torch

    import longpass.envs.gym
    from benchmarks._torch_agent import Player

    assert longpass.envs.gym  # registers the worlds
    torch.set_num_threads(1)
    envs = gymnasium.make_vec(f"longpass/{GYM_IDS[world]}-v0", num_envs=settings.envs)
    player = Player(envs, settings.rollout, settings.num_slices, block_every)
    return _row(PEER, world, block_every, settings, _cpu_seconds(player.update))


def _cpu_seconds(call: Callable[[], None]) -> list[float]:
    """Sorted CPU-seconds of a call, for `SECONDS` after a first one, which may compile."""
    call()
    seconds, end = [], time.perf_counter() + SECONDS
    while time.perf_counter() < end or len(seconds) < 3:
        began = time.process_time()
        call()
        seconds.append(time.process_time() - began)
    return sorted(seconds)


def _row(agent: str, world: str, block_every: int, settings: Any, seconds: list[float]) -> Row:
    """The row of an agent, from sorted CPU-seconds per update."""
    middle = seconds[len(seconds) // 2]
    frames, steps = settings.steps / middle, settings.optimiser_steps / middle
    return Row(agent, world, settings.envs, block_every, frames, steps)


def main(console: Console) -> dict[str, Any]:
    """Measure in a process with one thread, print a table and say which targets are not met."""
    command = [sys.executable, "-m", "benchmarks.agents"]
    environment = os.environ | single_threaded_environment()
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    measured = [Row(**row) for row in json.loads(done.stdout.splitlines()[-1])]
    peers = {_case(row): row.frames for row in measured if row.agent == PEER}
    table = Table("agent", "world", "copies", "block", "frames", "optimiser steps", "times PyTorch")
    table.title = "agents: per CPU-second, acting and learning, one thread"
    for column in table.columns[2:]:
        column.justify = "right"
    unmet = []
    for row in measured:
        ratio, target = row.frames / peers[_case(row)], TARGETS.get(row.agent, 0.0)
        table.add_row(
            row.agent,
            row.world,
            str(row.copies),
            str(row.block_every),
            f"{row.frames:,.0f}",
            f"{row.optimiser_steps:,.1f}",
            f"{ratio:.1f}",
        )
        if ratio < target:
            where = f"{row.world}, {row.copies} copies, block_every {row.block_every}"
            out = f"not met: {row.agent} {ratio:.1f} times the PyTorch agent (target {target:g})"
            unmet.append(f"{out} at {where}")
    console.print(table)
    for line in unmet or ["every target is met"]:
        console.print(line, highlight=False)
    console.print(machine())
    rows = [dataclasses.asdict(row) for row in measured]
    return {"rows": rows, "unmet": unmet, "machine": machine()}


def _case(row: Row) -> tuple[str, int, int]:
    return row.world, row.copies, row.block_every


if __name__ == "__main__":
    rows = [row for case in CASES for row in measure(*case)]
    print(json.dumps([dataclasses.asdict(row) for row in rows]))
