"""The truncation benchmark: which memory still learns when gradients are cut after a few steps?

Every memory has about as many parameters, the same number of random settings from one declared
space, and the same number of symbols. This file does not import JAX.
"""

import dataclasses
import hashlib
import math
from typing import Annotated, Any, Literal

import numpy as np

from longpass import _checks
from longpass._fields import OPTIONS_FLAG, Bounds, check_settings
from longpass._options import NO_OPTIONS, Options
from longpass.memory import is_foreign
from longpass.streams._settings import LearnerName, StreamSettings, TaskName

PARAMETERS = 4000
"""Parameters of each network, within `TOLERANCE`."""
TOLERANCE = 0.2
HIDDEN = 24  # units of the layer below the logits
LEARNING_RATES = (3e-4, 1e-2)
"""Learning rates are drawn evenly in the logarithm."""
EPSILONS = (1e-8, 1e-4)
"""Adam's epsilons likewise."""
_GROUP = 10  # runs that are trained together

_POOLS: dict[str, Any] = {"pool_size": 16, "num_pools": 8, "viewport_size": 10, "base": 2.0}
_LSTM: dict[str, Any] = {"memory": "lstm", "state_size": 25}
_GRU: dict[str, Any] = {"memory": "gru", "state_size": 29}
_MINGRU: dict[str, Any] = {"memory": "mingru", "state_size": 88}
_CHRONO: dict[str, Any] = {"memory_options": Options.of({"longest_time": 100})}
BENCHMARKED: dict[str, dict[str, Any]] = {
    "chain": {"memory": "chain", **_POOLS},
    "chain, layer": {"memory": "chain", "normalise": "layer", **_POOLS},
    "parallel": {"memory": "parallel", **_POOLS},
    "lstm": _LSTM,
    "lstm, chrono": _LSTM | _CHRONO,
    "gru": _GRU,
    "gru, chrono": _GRU | _CHRONO,
    "mingru": _MINGRU,
    "mingru, chrono": _MINGRU | _CHRONO,
    "lru": {"memory": "lru", "state_size": 34},
    "S6 (memax)": {
        "memory": "memax:S6",
        "memory_options": Options.of({"hidden_size": 24}),
    },
    "FFM (memax)": {
        "memory": "memax:FFM",
        "memory_options": Options.of({"hidden_size": 24}),
    },
    "FART (memax)": {
        "memory": "memax:FART",
        "memory_options": Options.of({"hidden_size": 32}),
    },
}
"""The memories of the benchmark by their names in it, with the settings that make them. Gated ones
have a forget bias of 1, or times up to 100 steps (chrono). FART is linear attention."""

BenchmarkPreset = Literal["quick", "laptop"]
"""How much of the benchmark is run."""


@dataclasses.dataclass(frozen=True)
class BenchmarkPlan:
    """The runs of a benchmark: some per cell (task with its span, memory and truncation).

    Run i is a pure function of the name, the seed and i.
    """

    name: str = "benchmark"
    """Name of the benchmark. Name and seed decide which settings are drawn."""
    seed: Annotated[int, Bounds(least=0)] = 0
    """Another seed draws other settings, weights and streams."""
    tasks: tuple[TaskName, ...] = ("two-markers", "recall", "previous")
    """Tasks. One may occur several times, with several spans."""
    spans: tuple[int, ...] = (50, 50, 10)
    """Steps of the shortest sequences of each task: the delays."""
    memories: tuple[str, ...] = tuple(BENCHMARKED)
    """Memories by their names in the benchmark; or one of your own, package.module:factory."""
    truncations: tuple[int, ...] = (1, 2, 4, 8, 16, 64)
    """Steps that gradients reach back. At the longest they reach over the whole sequence."""
    runs: Annotated[int, Bounds(least=1)] = 10
    """Runs with random settings per cell."""
    symbols: Annotated[int, Bounds(least=1)] = 1_000_000
    """Symbols to train each run on."""
    batch_size: Annotated[int, Bounds(least=1)] = 32
    """Streams in a minibatch."""
    memory_options: Annotated[Options, OPTIONS_FLAG] = NO_OPTIONS
    """Further arguments of a factory of your own."""

    def check(self) -> None:
        """ValueError or TypeError if a setting is not allowed."""
        check_settings(self)
        for what in ("memories", "truncations"):
            values = getattr(self, what)
            if not values or len(set(values)) < len(values):
                raise ValueError(f"{what} is {values}: it must have at least one value, each once")
        if not self.tasks or len(self.spans) != len(self.tasks):
            raise ValueError(
                f"spans is {self.spans}: it must have one span for each of the tasks {self.tasks}"
            )
        pairs = list(zip(self.tasks, self.spans, strict=True))
        if len(set(pairs)) < len(pairs):
            raise ValueError(
                f"tasks is {self.tasks} with spans {self.spans}: there must be each pair once"
            )
        for truncation in self.truncations:
            _checks.positive_int("truncation", truncation)
        for memory in self.memories:
            self.memory_settings(memory)
        for cell in range(self.cells):
            self.settings(cell)

    def memory_settings(self, memory: str) -> dict[str, Any]:
        """The settings that make a memory. ValueError if there is none of this name."""
        if memory in BENCHMARKED:
            return BENCHMARKED[memory]
        if ":" not in memory or not is_foreign(memory):
            raise ValueError(
                f"memory is {memory!r}: it must be one of {', '.join(map(repr, BENCHMARKED))}, or "
                f"package.module:factory"
            )
        return {"memory": memory, "memory_options": self.memory_options}

    @property
    def cells(self) -> int:
        """Combinations of task (with its span), memory and truncation."""
        return len(self.tasks) * len(self.memories) * len(self.truncations)

    def __len__(self) -> int:
        """Number of runs."""
        return self.cells * self.runs

    def place(self, i: int) -> tuple[TaskName, int, str, int]:
        """(Task, span, memory, truncation) of run `i`. Tasks change fastest, memories last."""
        cell, task = divmod(i % self.cells, len(self.tasks))
        memory, truncation = divmod(cell, len(self.truncations))
        return (
            self.tasks[task],
            self.spans[task],
            self.memories[memory],
            self.truncations[truncation],
        )

    def settings(self, i: int) -> StreamSettings:
        """The settings of run `i`, complete."""
        task, span, memory, truncation = self.place(i)
        # All memories get the same draws: run r of a cell has the same rates everywhere.
        name = int.from_bytes(hashlib.sha256(self.name.encode()).digest()[:8], "big")
        rng = np.random.default_rng([name, self.seed, i // self.cells])
        return StreamSettings(
            task=task,
            span=span,
            truncation=truncation,
            batch_size=self.batch_size,
            symbols=self.symbols,
            learning_rate=_draw_log_uniform(rng, LEARNING_RATES),
            epsilon=_draw_log_uniform(rng, EPSILONS),
            hidden_size=HIDDEN,
            clear_state=True,
            seed=int(rng.integers(2**32)),
            **self.memory_settings(memory),
        ).resolved()

    def groups(self, learner: LearnerName | None = None) -> list[tuple[int, ...]]:
        """All runs, in groups that are trained together: the runs of a cell, by JAX."""
        return [
            tuple(run * self.cells + cell for run in range(first, min(first + _GROUP, self.runs)))
            for first in range(0, self.runs, _GROUP)
            for cell in range(self.cells)
        ]


def benchmark_preset(name: BenchmarkPreset) -> BenchmarkPlan:
    """The plan of a preset.

    **Arguments:**

    - `name`: `quick` or `laptop`.

    **Returns:** the plan.

    - quick: recall over 20 steps, four memories, three truncations, four settings: minutes.
    - laptop: three tasks, all memories, six truncations, ten settings: hours.
    """
    if name == "laptop":
        return BenchmarkPlan(name="laptop")
    return BenchmarkPlan(
        name="quick",
        tasks=("recall",),
        spans=(20,),
        memories=("chain, layer", "lstm", "mingru", "lru"),
        truncations=(2, 8, 32),
        runs=4,
        symbols=200_000,
    )


def count_parameters(settings: StreamSettings) -> int:
    """Count the parameters of a network. This imports JAX; nothing is computed.

    **Arguments:**

    - `settings`: of a run.

    **Returns:** their number.
    """
    import jax.numpy as jnp

    from longpass.streams._flat_weights import WeightLayout
    from longpass.streams._network import network_shape

    return WeightLayout.of(network_shape(settings.resolved(), jnp.float32)).size


def check_parameters(plan: BenchmarkPlan) -> None:
    """ValueError if a memory of a plan makes networks that are too large or too small.

    The table of the benchmark would compare sizes then, not memories.

    **Arguments:**

    - `plan`: the plan.
    """
    low, high = PARAMETERS * (1 - TOLERANCE), PARAMETERS * (1 + TOLERANCE)
    first = {plan.place(cell)[2]: plan.settings(cell) for cell in range(plan.cells)}
    for memory, settings in first.items():
        count = count_parameters(settings)
        if not low <= count <= high:
            raise ValueError(
                f"memory is {memory!r}, whose network has {count} parameters: it must have "
                f"{low:.0f} to {high:.0f}, as the others do; set its size by memory_options"
            )


def _draw_log_uniform(rng: np.random.Generator, bounds: tuple[float, float]) -> float:
    low, high = map(math.log, bounds)
    return float(f"{math.exp(rng.uniform(low, high)):.6g}")
