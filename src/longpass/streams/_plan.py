"""A sweep's plan: run i of it is a pure function of the sweep's name, its seed and i."""

import dataclasses
import functools
import hashlib
import math
from typing import Any

import numpy as np

from longpass import _checks
from longpass._settings import PlanFields
from longpass.streams._group import shape_of
from longpass.streams._settings import StreamSettings

# The paper's table: sets are drawn from evenly, the two ranges evenly in their logarithm.
_RANGE = (5e-7, 1e-3)
_HIDDEN = (16, 32, 64)
_GATED_SIZES = (8, 16, 32, 64, 96)
_POOL_SIZES = (8, 16, 24, 32, 48)
_POOLS = (4, 6, 8, 10, 12)
_VIEWPORTS = (4, 6, 10, 16)
_BASES = (1.5, 2.0, 3.0)

# Runs of one shape learn together where minibatches are so small that the cost of starting an
# operation is most of its time; larger ones are faster one by one (measured: see docs).
_SMALL = 16  # symbols in a minibatch
_TOGETHER = 8


@dataclasses.dataclass(frozen=True)
class Plan(PlanFields):
    """Which runs a sweep has: so many with random settings for each task, memory and truncation.

    Runs go round the cells, so that a sweep that is stopped has about as many of each.
    """

    def check(self) -> None:
        """ValueError or TypeError where a setting is impossible, before any work starts."""
        if not self.name:
            raise ValueError("name is '': it must not be empty")
        _checks.int_within("seed", self.seed, 0, None)
        _checks.positive_int("runs", self.runs)
        for what in ("tasks", "memories", "truncations", "batch_sizes"):
            values = getattr(self, what)
            if not values or len(set(values)) < len(values):
                raise ValueError(f"{what} is {values}: it must name at least one, each once")
        for truncation in self.truncations:
            _checks.positive_int("truncation", truncation)
        for batch_size in self.batch_sizes:
            _checks.positive_int("batch_size", batch_size)
        largest = max(self.batch_sizes) * max(self.truncations)
        if self.symbols is not None and self.symbols < largest:
            raise ValueError(
                f"symbols is {self.symbols}: it must be at least {largest}, the largest minibatch "
                f"({max(self.batch_sizes)} streams times {max(self.truncations)} symbols)"
            )
        for cell in range(self.cells):
            self.run(cell)

    @property
    def cells(self) -> int:
        """Combinations of task, memory and truncation."""
        return len(self.tasks) * len(self.memories) * len(self.truncations)

    def __len__(self) -> int:
        return self.cells * self.runs

    def run(self, i: int) -> StreamSettings:
        """The settings of run i."""
        cell = i % self.cells
        task = self.tasks[cell % len(self.tasks)]
        cell //= len(self.tasks)
        memory = self.memories[cell % len(self.memories)]
        truncation = self.truncations[cell // len(self.memories)]
        name = int.from_bytes(hashlib.sha256(self.name.encode()).digest()[:8], "big")
        rng = np.random.default_rng([name, self.seed, i])
        drawn: dict[str, Any] = {
            "batch_size": _one(rng, self.batch_sizes),
            "learning_rate": _log_uniform(rng),
            "epsilon": _log_uniform(rng),
            "M": _one(rng, _HIDDEN),
        }
        if memory in ("chain", "parallel"):
            drawn |= {
                "D": _one(rng, _POOL_SIZES),
                "k": _one(rng, _POOLS),
                "V": _one(rng, _VIEWPORTS),
                "b": _one(rng, _BASES),
            }
        else:
            drawn |= {"D": _one(rng, _GATED_SIZES)}
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

    @functools.cached_property
    def groups(self) -> list[tuple[int, ...]]:
        """All runs, in the groups that learn together: the same however often a sweep restarts."""
        groups: list[list[int]] = []
        open_groups: dict[tuple, list[int]] = {}
        for i in range(len(self)):
            settings = self.run(i)
            shape = shape_of(settings)
            group = open_groups.get(shape)
            if settings.minibatch > _SMALL or group is None or len(group) == _TOGETHER:
                group = []
                groups.append(group)
                open_groups[shape] = group
            group.append(i)
        return [tuple(group) for group in groups]

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in dataclasses.asdict(self).items()
        }


def _one(rng: np.random.Generator, values: tuple) -> Any:
    return values[int(rng.integers(len(values)))]


def _log_uniform(rng: np.random.Generator) -> float:
    low, high = map(math.log, _RANGE)
    return float(f"{math.exp(rng.uniform(low, high)):.6g}")
