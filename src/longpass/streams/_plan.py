"""The plan of a sweep with random settings.

The ranges are those of the table in section 5.1 of the paper.

Run i is a pure function of the sweep's name, its seed and i.
"""

import dataclasses
import hashlib
import math
from typing import Annotated, Any, TypeVar

import numpy as np

from longpass import _checks
from longpass._fields import OPTIONS_FLAG, Added, Bounds, check_settings
from longpass._options import NO_OPTIONS, Options
from longpass.memory import MemoryName, has_pools, is_foreign
from longpass.streams._settings import (
    LearnerName,
    StreamSettings,
    TaskName,
    choose_learner,
)

# The paper's table: sets are drawn from evenly, the two ranges evenly in their logarithm.
_RANGE = (5e-7, 1e-3)
_HIDDEN_SIZES = (16, 32, 64)
_STATE_SIZES = (8, 16, 32, 64, 96)
_POOL_SIZES = (8, 16, 24, 32, 48)
_NUM_POOLS = (4, 6, 8, 10, 12)
_VIEWPORT_SIZES = (4, 6, 10, 16)
_BASES = (1.5, 2.0, 3.0)

# JAX trains runs of one shape together if minibatches are so small that starting an operation takes
# most of its time; larger ones are faster one by one (docs/classification.md).
_SMALL_MINIBATCH = 16  # symbols
_GROUP_SIZE = 8

Value = TypeVar("Value")


_Sizes = Annotated[tuple[int, ...], Bounds(least=1, most=100_000)]


@dataclasses.dataclass(frozen=True)
class SweepPlan:
    """The runs of a sweep: some with random settings per cell (task, memory and truncation).

    Successive runs belong to successive cells, so that a sweep that is stopped has about equally
    many of each.
    """

    name: str = "sweep"
    """Name of the sweep. Name and seed decide which settings are drawn."""
    seed: Annotated[int, Bounds(most=_checks.MOST_SEED)] = 0
    """Another seed draws other settings, weights and streams."""
    tasks: tuple[TaskName, ...] = ("two-markers", "three-markers", "subsequences")
    """Tasks."""
    memories: tuple[MemoryName, ...] = ("chain", "parallel", "lstm")
    """Memories."""
    truncations: _Sizes = (
        2,
        4,
        8,
        16,
        32,
        64,
        128,
        256,
    )
    """Truncation lengths."""
    batch_sizes: _Sizes = (4, 8, 16, 32, 64, 128)
    """Batch sizes to draw from."""
    runs: Annotated[int, Bounds(least=1, most=10_000)] = 20
    """Runs per task, memory and truncation."""
    symbols: int | float | None = None
    """Symbols to train each run on. By default as many as in the paper: 4e7, for subsequences
    1e8."""
    memory_options: Annotated[Options, OPTIONS_FLAG, Added()] = NO_OPTIONS
    """Further arguments of those memories that are factories of other packages."""

    def check(self) -> None:
        """ValueError or TypeError if a setting is not allowed."""
        check_settings(self)
        if not self.name:
            raise ValueError("name is '': it must not be empty")
        for what in ("tasks", "memories", "truncations", "batch_sizes"):
            values = getattr(self, what)
            if not values or len(set(values)) < len(values):
                raise ValueError(f"{what} is {values}: it must have at least one value, each once")
        if not all(isinstance(memory, str) for memory in self.memories):
            raise TypeError(f"memories is {self.memories}: it must have names of memories")
        largest = max(self.batch_sizes) * max(self.truncations)
        if self.symbols is not None:
            _checks.count("symbols", self.symbols)
        if self.symbols is not None and self.symbols < largest:
            raise ValueError(
                f"symbols is {self.symbols}: it must be at least {largest}, the largest minibatch "
                f"({max(self.batch_sizes)} streams times {max(self.truncations)} symbols)"
            )
        for cell in range(self.cells):
            self.settings(cell)

    @property
    def cells(self) -> int:
        """Combinations of task, memory and truncation."""
        return len(self.tasks) * len(self.memories) * len(self.truncations)

    def __len__(self) -> int:
        """Number of runs."""
        return self.cells * self.runs

    def settings(self, i: int) -> StreamSettings:
        """The settings of run `i`, complete."""
        cell = i % self.cells
        task = self.tasks[cell % len(self.tasks)]
        cell //= len(self.tasks)
        memory = self.memories[cell % len(self.memories)]
        truncation = self.truncations[cell // len(self.memories)]
        name = int.from_bytes(hashlib.sha256(self.name.encode()).digest()[:8], "big")
        rng = np.random.default_rng([name, self.seed, i])
        # The order of these draws decides what records of older sweeps mean: do not change it.
        drawn: dict[str, Any] = {
            "batch_size": _choose(rng, self.batch_sizes),
            "learning_rate": _draw_log_uniform(rng),
            "epsilon": _draw_log_uniform(rng),
            "hidden_size": _choose(rng, _HIDDEN_SIZES),
        }
        if has_pools(memory):
            drawn |= {
                "pool_size": _choose(rng, _POOL_SIZES),
                "num_pools": _choose(rng, _NUM_POOLS),
                "viewport_size": _choose(rng, _VIEWPORT_SIZES),
                "base": _choose(rng, _BASES),
            }
        elif is_foreign(memory):
            drawn |= {"memory_options": self.memory_options}
        else:
            drawn |= {"state_size": _choose(rng, _STATE_SIZES)}
        seed = int(rng.integers(2**32))
        settings = StreamSettings(
            task=task,
            memory=memory,
            truncation=truncation,
            symbols=self.symbols,
            seed=seed,
            **drawn,
        )
        return settings.resolved()

    def groups(self, learner: LearnerName | None = None) -> list[tuple[int, ...]]:
        """All runs, in groups that are trained together.

        **Arguments:**

        - `learner`: what computes the updates. Native code trains runs one by one.
        """
        groups: list[list[int]] = []
        open_groups: dict[tuple[object, ...], list[int]] = {}
        for i in range(len(self)):
            settings = self.settings(i)
            group = open_groups.get(settings.group_key)
            alone = (
                settings.minibatch > _SMALL_MINIBATCH
                or choose_learner(settings, learner) == "native"
            )
            if alone or group is None or len(group) == _GROUP_SIZE:
                group = []
                groups.append(group)
                open_groups[settings.group_key] = group
            group.append(i)
        return [tuple(group) for group in groups]


def _choose(rng: np.random.Generator, values: tuple[Value, ...]) -> Value:
    return values[int(rng.integers(len(values)))]


def _draw_log_uniform(rng: np.random.Generator) -> float:
    low, high = map(math.log, _RANGE)
    return float(f"{math.exp(rng.uniform(low, high)):.6g}")
