"""`longpass.torch.Concrete` against nn.LSTM, nn.GRU, the idiomatic loop and our form in JAX.

Every row times one network of equal width: gradients in all parameters and in the inputs. All run
with the threads that they take by default. RecurrentPPO's update is timed with episodes that start
inside the rollout, as they do in nearly every batch.
"""

from collections.abc import Callable
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import torch
from gymnasium import spaces
from rich.console import Console
from sb3_contrib import RecurrentPPO
from stable_baselines3.common.env_util import make_vec_env

from benchmarks._timing import machine, make_tables, time_in_turn
from benchmarks._torch_concrete import TorchConcrete
from benchmarks.memory import SIZES, VIEWPORT, build, jax_call, torch_call
from longpass.torch import Concrete, ConcreteCell
from longpass.torch.sb3 import ConcretePolicy

SECONDS = 12.0
EPISODE = 50
# Of RecurrentPPO: what both policies share.
UPDATE = {"n_steps": 128, "batch_size": 256, "n_epochs": 1, "device": "cpu", "seed": 0}


def measure(batch: int, size: int, pools: int, steps: int, seconds: float) -> dict[str, float]:
    """Median seconds of each peer at one size."""
    rng = np.random.default_rng(0)
    xs = rng.standard_normal((batch, steps, size), dtype=np.float32)
    starts = torch.tensor(rng.random((steps, batch)) < 0.01)

    def make() -> Concrete:
        return Concrete(size, size, pools, viewport_size=VIEWPORT)

    class WithStarts(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.memory = make()

        def forward(self, x: torch.Tensor) -> Any:
            return self.memory(x, starts=starts)

    memory = build(size, pools)

    def ours(memory, state, xs, starts):
        return memory.unroll(state, xs, starts)[1]

    calls = {
        "longpass": torch_call(make(), xs),
        "longpass, starts": torch_call(WithStarts(), xs),
        "LSTM": torch_call(torch.nn.LSTM(size, size), xs),
        "GRU": torch_call(torch.nn.GRU(size, size), xs),
        "loop": torch_call(TorchConcrete(size, pools, VIEWPORT), xs),
        "JAX": jax_call(ours, memory, memory.initial_state(), jnp.asarray(xs), None),
    }
    return time_in_turn(calls, seconds)


def measure_step(batch: int, seconds: float) -> dict[str, float]:
    """Median seconds of one forward step at size 64, as when acting."""
    cell, lstm, gru = ConcreteCell(64, 64), torch.nn.LSTMCell(64, 64), torch.nn.GRUCell(64, 64)
    x, pools, h = torch.randn(batch, 64), torch.zeros(8, batch, 64), torch.zeros(batch, 64)
    start = torch.zeros(batch, dtype=torch.bool)

    def timed(function: Callable[[], object]) -> Callable[[], None]:
        def call() -> None:
            with torch.inference_mode():
                function()

        return call

    calls: dict[str, Callable[[], object]] = {
        "longpass": timed(lambda: cell(x, pools, start)),
        "LSTMCell": timed(lambda: lstm(x, (h, h))),
        "GRUCell": timed(lambda: gru(x, h)),
    }
    return time_in_turn(calls, seconds)


class Episodes(gymnasium.Env):
    """Random frames; episodes of `EPISODE` steps."""

    observation_space = spaces.Box(-1.0, 1.0, (16,), np.float32)
    action_space = spaces.Discrete(4)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self.time = 0
        return self.observation_space.sample(), {}

    def step(self, action: int):
        self.time += 1
        return self.observation_space.sample(), 0.0, self.time == EPISODE, False, {}


def measure_update(seconds: float) -> dict[str, float]:
    """Median seconds of one update of RecurrentPPO with each core."""
    policies = {"longpass": ConcretePolicy, "LSTM": "MlpLstmPolicy"}
    calls: dict[str, Callable[[], object]] = {}
    for name, policy in policies.items():
        model = RecurrentPPO(
            policy,
            make_vec_env(Episodes, n_envs=8, seed=0),
            policy_kwargs={"lstm_hidden_size": 64},
            **UPDATE,
        )
        model.learn(8 * UPDATE["n_steps"])
        calls[name] = model.train
    return time_in_turn(calls, seconds)


def main(console: Console, seconds: float = SECONDS) -> dict[str, Any]:
    """Time everything, print the tables and say which targets are not met."""
    rows = {size: measure(*size, seconds) for size in SIZES}
    for table in make_tables(rows, "PyTorch: ms, forward and backward"):
        console.print(table)
    steps = {batch: measure_step(batch, seconds / 4) for batch in (1, 32)}
    for batch, times in steps.items():
        shown = ", ".join(f"{name} {1e6 * t:.1f} µs" for name, t in times.items())
        console.print(f"one step, B {batch}: {shown}", highlight=False)
    update = measure_update(seconds)
    ratio = update["LSTM"] / update["longpass"]
    console.print(f"RecurrentPPO's update: {ratio:.2f} times as fast as its LSTM's")
    unmet = missed(rows, update)
    for line in unmet or ["every target is met"]:
        console.print(line, highlight=False)
    console.print(f"{machine()}; JAX {jax.__version__}, PyTorch {torch.__version__}")
    return {
        "rows": [dict(zip("BDkT", size, strict=True)) | times for size, times in rows.items()],
        "steps": {str(batch): times for batch, times in steps.items()},
        "update": update,
        "unmet": unmet,
        "machine": machine(),
    }


def missed(rows: dict, update: dict[str, float]) -> list[str]:
    """The targets that these times do not meet."""
    out = []
    for size, times in rows.items():
        own = times["longpass"]
        if size[3] >= 30:
            out += [
                f"not met at {size}: {times[peer] / own:.2f}x nn.{peer} (target 1)"
                for peer in ("LSTM", "GRU")
                if times[peer] < own
            ]
        if size[3] == 100 and times["loop"] < 5 * own:
            out.append(f"not met at {size}: {times['loop'] / own:.2f}x the loop (target 5)")
        if own > 2 * times["JAX"]:
            out.append(f"not met at {size}: {own / times['JAX']:.2f} times JAX (target 2)")
    ratio = update["LSTM"] / update["longpass"]
    if ratio < 3:
        out.append(f"not met: RecurrentPPO's update, {ratio:.2f}x its LSTM (target 3)")
    return out
