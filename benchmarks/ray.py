"""What Ray costs on one machine, and what IMPALA sends over it.

Sweeps: the same runs on the local engine and on Ray, one process per core each, in turn. IMPALA:
updates per second of the one program that acts and learns, and of actors and a learner on Ray,
with the default agent on Cued Catch; bytes are those of the arrays that are sent.
"""

import dataclasses
import statistics
import time
from collections.abc import Callable
from typing import Any

import jax
from rich.console import Console
from rich.table import Table

from benchmarks._timing import machine
from longpass.agents import (
    Impala,
    RayImpala,
    RunSettings,
    hyper_arrays,
    learn_rollout,
    make_trainer,
    resolve_settings,
)
from longpass.envs import names
from longpass.jobs import Job, available_cores, make_engine, ray_cluster
from longpass.streams import StreamSettings, train_group

RUNS = 12
SYMBOLS = 8_000_000  # some five seconds per run
TURNS = ("local", "ray", "ray", "local")
COPIES = 32
UPDATES = 30
OVERHEAD = 0.10  # at most, for sweeps


@dataclasses.dataclass(frozen=True)
class SweepRow:
    """One engine: seconds of all runs; after each worker's first one; until the first message."""

    engine: str
    whole: float
    later: float
    begin: float


@dataclasses.dataclass(frozen=True)
class ImpalaRow:
    """One arrangement of acting and learning."""

    arrangement: str
    updates_per_second: float
    steps_per_second: float
    lag: float = 0.0


@dataclasses.dataclass(frozen=True)
class Sent:
    """What an update sends: a rollout to the learner, weights to each node."""

    world: str
    writer: str
    rollout: int
    weights: int


def sweep(name: Any, workers: int) -> SweepRow:
    """A dozen runs of one shape on this engine."""
    settings = StreamSettings(
        symbols=SYMBOLS, hidden_size=32, pool_size=24, num_pools=8, viewport_size=10
    )
    jobs = [Job(i, (dataclasses.replace(settings, seed=i).resolved(),)) for i in range(RUNS)]
    with make_engine(name, train_group, workers) as engine:
        began = time.perf_counter()
        first, over = None, []
        for progress in engine.run(jobs):
            first = first or time.perf_counter()
            if progress.state == "failed":
                raise RuntimeError(progress.error)
            if progress.state == "done":
                over.append(time.perf_counter())
        assert first is not None
    return SweepRow(name, over[-1] - began, over[-1] - over[workers - 1], first - began)


def agent(world: str, *, paper: bool = False) -> RunSettings:
    """The default agent of a world, with 32 copies."""
    return resolve_settings(world, None, {"envs": COPIES}, paper=paper)


def rate(call: Callable[[], Any], seconds: float = 6.0) -> tuple[float, float]:
    """(Calls per second, calls per CPU-second of this process)."""
    jax.block_until_ready(call())
    walls, cpus = [], []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(walls) < 3:
        wall, cpu = time.perf_counter(), time.process_time()
        jax.block_until_ready(call())
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return 1 / statistics.median(walls), 1 / statistics.median(cpus)


def over_ray(run: RunSettings, actors: int) -> ImpalaRow:
    """Actors on Ray and the learner here."""
    hyper = hyper_arrays(run.agent.hyper)
    with RayImpala(run, actors) as trainer:
        state = trainer.start(jax.random.key(0))
        # Programs are compiled, and every actor has started.
        state, _ = trainer.train_steps(state, hyper, 4 * actors)
        began = time.perf_counter()
        state, result = trainer.train_steps(state, hyper, UPDATES)
        updates = UPDATES / (time.perf_counter() - began)
    name = f"Ray, {actors} actor{'s' if actors > 1 else ''} and the learner"
    assert result.actors is not None
    lag = float(result.actors.lag.mean())
    return ImpalaRow(name, updates, updates * run.agent.learner.steps, lag)


def on_one_machine(run: RunSettings) -> tuple[list[ImpalaRow], dict[str, float]]:
    """(The one program; acting and learning alone: steps per CPU-second)."""
    trainer, hyper, steps = (
        make_trainer(run),
        hyper_arrays(run.agent.hyper),
        run.agent.learner.steps,
    )
    state = trainer.start(jax.random.key(0))
    network, actors = jax.tree.map(jax.numpy.copy, (state.weights.network, state.actors))
    key = jax.random.key(1)
    _, rollout = trainer.make_rollout(network, actors, key)

    def update() -> Any:
        nonlocal state
        state, result = trainer.train_steps(state, hyper, 1)
        return result

    def learn() -> Any:
        nonlocal state
        state, result = learn_rollout(run.agent.learner, state, rollout, hyper)
        return result

    together, _ = rate(update)
    acting, acting_cpu = rate(lambda: trainer.make_rollout(network, actors, key))
    learning, learning_cpu = rate(learn)
    rows = [
        ImpalaRow("one program", together, together * steps),
        ImpalaRow("acting alone", acting, acting * steps),
        ImpalaRow("learning alone", learning, learning * steps),
    ]
    return rows, {"acting": acting_cpu * steps, "learning": learning_cpu * steps}


def sent(world: str, *, paper: bool) -> Sent:
    """Bytes of what an update of this world's agent sends."""
    run = agent(world, paper=paper)
    trainer = make_trainer(run)
    assert isinstance(trainer, Impala)
    state = trainer.state_shapes()
    network = state.weights.network
    key = jax.eval_shape(lambda: jax.random.key(0))
    _, rollout = jax.eval_shape(trainer.make_rollout, network, state.actors, key)
    return Sent(world, run.agent.network.writer, _bytes(rollout), _bytes(network))


def _bytes(tree: Any) -> int:
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree))


def main(console: Console) -> dict[str, Any]:
    """Measure, print tables and say whether the target is met."""
    workers, run = len(available_cores()), agent("cued-catch")
    # One cluster for all, started before JAX is used.
    with ray_cluster(None, workers):
        sweeps = [sweep(name, workers) for name in TURNS]
        impala = [over_ray(run, actors) for actors in range(1, workers + 1)]
    overhead = {}
    for what in ("whole", "later"):
        local, ray = (
            sum(getattr(row, what) for row in sweeps if row.engine == name)
            for name in ("local", "ray")
        )
        overhead[what] = ray / local - 1
    rows, per_cpu = on_one_machine(run)
    impala += rows
    sizes = [sent(world, paper=paper) for world in names() for paper in (False, True)]
    _print(console, sweeps, impala, sizes, workers)
    rates = ", ".join(f"{name} {value:,.0f}" for name, value in per_cpu.items())
    console.print(f"steps per CPU-second: {rates}", highlight=False)
    met = "met" if overhead["later"] < OVERHEAD else "not met"
    console.print(
        f"{met}: on Ray a sweep takes {overhead['later']:+.1%} against the local engine, once "
        f"workers have compiled (target {OVERHEAD:.0%}); {overhead['whole']:+.1%} with their "
        f"start and compiling, of {RUNS} runs. Starting Ray itself is in neither.",
        highlight=False,
        soft_wrap=True,
    )
    console.print(machine())
    return {
        "sweeps": [dataclasses.asdict(row) for row in sweeps],
        "overhead": overhead,
        "impala": [dataclasses.asdict(row) for row in impala],
        "steps_per_cpu_second": per_cpu,
        "sent": [dataclasses.asdict(row) for row in sizes],
        "machine": machine(),
    }


def _print(
    console: Console, sweeps: list[SweepRow], impala: list[ImpalaRow], sizes: list[Sent], workers
) -> None:
    table = Table("engine", "all, s", "after each worker's first, s", "until the first message, s")
    table.title = f"ray: {RUNS} runs of {SYMBOLS:,} symbols, {workers} workers"
    for row in sweeps:
        table.add_row(row.engine, f"{row.whole:.1f}", f"{row.later:.1f}", f"{row.begin:.1f}")
    console.print(table)
    table = Table("arrangement", "updates/s", "steps/s", "lag, updates")
    table.title = f"ray: Cued Catch, {COPIES} copies per actor, rollouts of 300"
    for row in impala:
        table.add_row(
            row.arrangement,
            f"{row.updates_per_second:.2f}",
            f"{row.steps_per_second:,.0f}",
            f"{row.lag:.1f}" if row.lag else "",
        )
    console.print(table)
    table = Table("world", "writer", "rollout, MB", "bytes per step", "weights, MB")
    table.title = "ray: an update sends one rollout, and weights once to every node"
    for row in sizes:
        table.add_row(
            row.world,
            row.writer,
            f"{row.rollout / 1e6:.2f}",
            f"{row.rollout / (COPIES * 300):.0f}",
            f"{row.weights / 1e6:.2f}",
        )
    console.print(table)
