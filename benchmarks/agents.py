"""Acting and learning together: environment steps per second of whole agents, in one run.

Ours is one compiled program, here with the torso on raw frames; the peer is a plain PyTorch agent
(see `_torch_agent.py`) on the same worlds through Gymnasium. CPU-seconds are those of the process,
so that threads are counted.
"""

import dataclasses
import time
from collections.abc import Callable
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import torch
from rich.console import Console
from rich.table import Table

import longpass.envs.gym
from benchmarks._timing import machine, time_in_turn
from benchmarks._torch_agent import steps_per_second
from longpass.agents import (
    HyperParams,
    Impala,
    LearnerSettings,
    NetworkBuilder,
    NetworkSettings,
    hyper_arrays,
)
from longpass.envs import AnyEnvironment, AutoReset, CuedCatch, TMaze
from longpass.memory import MemoryName

COPIES = (8, 16, 32, 64, 128, 256)
BLOCKS = (3, 20, 100, 300)
SECONDS = 4.0
LOOP = 100  # steps of acting's parts in one call
TARGETS = {"Cued Catch": 30_000, "T-maze": 15_000}


@dataclasses.dataclass(frozen=True)
class Row:
    """One agent."""

    agent: str
    world: str
    copies: int
    block_every: int
    steps_per_second: float
    steps_per_cpu_second: float
    compile_seconds: float = 0.0


def builder(memory: MemoryName, env: AnyEnvironment) -> NetworkBuilder:
    """The sizes of the design: 9 pools of 198, viewports 32, summariser 128; LSTM 128."""
    pooled = memory in ("chain", "parallel")
    settings = NetworkSettings(
        memory=memory,
        num_pools=9,
        writer="frozen",
        embedding="sparse",
        normalise="layer" if pooled else None,
    )
    return NetworkBuilder(settings, env.observation_space().shape, env.action_space().n)


def measure(env: AnyEnvironment, memory: MemoryName, copies: int, block_every: int) -> Row:
    """Our agent on one world."""
    settings = LearnerSettings(envs=copies, block_every=block_every, stagger=256)
    learner = Impala(env, env.default_params, builder(memory, env), settings)
    hyper = hyper_arrays(HyperParams())
    begin = time.perf_counter()
    state = learner.start(jax.random.key(0))
    state, result = learner.train_steps(state, hyper, 1)
    jax.block_until_ready(result)
    compiled = time.perf_counter() - begin
    rates, cpu_rates = [], []
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end or len(rates) < 3:
        clock, cpu = time.perf_counter(), time.process_time()
        state, result = learner.train_steps(state, hyper, 1)
        jax.block_until_ready(result)
        rates.append(settings.steps / (time.perf_counter() - clock))
        cpu_rates.append(settings.steps / (time.process_time() - cpu))
    middle = len(rates) // 2
    return Row(
        memory,
        env.title,
        copies,
        block_every,
        sorted(rates)[middle],
        sorted(cpu_rates)[middle],
        compiled,
    )


def measure_torch(world: str, title: str, copies: int) -> Row:
    """The PyTorch agent on the same world."""
    envs = gymnasium.make_vec(f"longpass/{world}-v0", num_envs=copies)
    rate, cpu_rate = steps_per_second(envs, 300, 4)
    return Row("PyTorch LSTM", title, copies, 300, rate, cpu_rate)


def parts(env: AnyEnvironment, copies: int) -> dict[str, float]:
    """Where acting's time goes: microseconds per step of its parts, each in a compiled loop."""
    network = builder("chain", env)(jax.random.key(0))
    params = env.default_params
    keys = jax.random.split(jax.random.key(1), copies)
    frame, state = jax.vmap(env.reset, in_axes=(0, None))(keys, params)
    xs = network.embed(frame)
    actions = jnp.zeros(copies, jnp.int32)
    starts = jnp.zeros(copies, bool)
    step = jax.vmap(AutoReset(env).step, in_axes=(0, 0, 0, None))

    def play(state: Any) -> tuple[Any, Any]:
        frame, state, reward, *_ = step(keys, state, actions, params)
        return state, (frame, reward)

    def see(frame: Any) -> tuple[Any, Any]:
        x = network.embed(frame)
        # The next frame depends on this one, or the loop would be left out.
        return frame ^ (jnp.sum(x) < 0).astype(frame.dtype), x

    def remember(memory: Any) -> tuple[Any, Any]:
        return jax.vmap(network.memory.step)(memory, xs, starts)

    def timed(function: Callable[[Any], tuple[Any, Any]], start: Any) -> Callable[[], Any]:
        compiled = jax.jit(lambda carry: jax.lax.scan(lambda c, _: function(c), carry, length=LOOP))
        return lambda: jax.block_until_ready(compiled(start))

    calls = {
        "environment": timed(play, state),
        "torso": timed(see, frame),
        "pools and reader": timed(remember, jnp.zeros((copies, 9, 198), jnp.float32)),
    }
    times = time_in_turn(calls, SECONDS)
    return {name: 1e6 * seconds / copies / LOOP for name, seconds in times.items()}


def rows() -> list[Row]:
    """Every measurement: blocks and memories, worlds, copies, and the peer."""
    catch, maze = CuedCatch(), TMaze()
    memories: tuple[MemoryName, ...] = ("chain", "lstm")
    measured = [measure(catch, memory, 32, block) for block in BLOCKS for memory in memories]
    measured.append(measure(maze, "chain", 32, 20))
    measured += [measure(catch, "chain", copies, 20) for copies in COPIES if copies != 32]
    peers = (("CuedCatch", "Cued Catch"), ("TMaze", "T-maze"))
    return measured + [measure_torch(world, title, 32) for world, title in peers]


def main(console: Console) -> dict[str, Any]:
    """Measure, print tables and say which targets are not met."""
    assert longpass.envs.gym  # registers the worlds
    measured = rows()
    table = Table("agent", "world", "copies", "block", "steps per s", "per CPU-s", "compile, s")
    table.title = "agents: environment steps per second, acting and learning"
    for column in table.columns[2:]:
        column.justify = "right"
    for row in measured:
        table.add_row(
            row.agent,
            row.world,
            str(row.copies),
            str(row.block_every),
            f"{row.steps_per_second:,.0f}",
            f"{row.steps_per_cpu_second:,.0f}",
            f"{row.compile_seconds:.1f}" if row.compile_seconds else "",
        )
    console.print(table)
    shares = parts(CuedCatch(), 32)
    parts_shown = ", ".join(f"{name} {time:.2f}" for name, time in shares.items())
    console.print(f"one step of acting, µs, 32 copies: {parts_shown}", highlight=False)
    unmet = missed(measured)
    for line in unmet or ["every target is met"]:
        console.print(line, highlight=False)
    console.print(f"{machine()}; JAX {jax.__version__}, PyTorch {torch.__version__}")
    return {
        "rows": [dataclasses.asdict(row) for row in measured],
        "acting": shares,
        "unmet": unmet,
        "machine": machine(),
    }


def missed(measured: list[Row]) -> list[str]:
    """The targets of the design that these rows do not meet."""
    out = []
    ours = [row for row in measured if row.copies == 32]
    by = {(row.agent, row.world, row.block_every): row for row in ours}
    for world, target in TARGETS.items():
        row = by["chain", world, 20]
        if row.steps_per_cpu_second < target:
            made = row.steps_per_cpu_second
            out.append(f"not met: {world} {made:,.0f} steps per CPU-second (target {target:,})")
        ratio = row.steps_per_second / by["PyTorch LSTM", world, 300].steps_per_second
        if ratio < 20:
            out.append(f"not met: {world} {ratio:.1f}x the PyTorch agent (target 20)")
    for block in BLOCKS:
        chain, lstm = (by[name, "Cued Catch", block].steps_per_second for name in ("chain", "lstm"))
        if chain < lstm:
            out.append(f"not met at block {block}: chain {chain / lstm:.2f}x our LSTM (target 1)")
    return out
