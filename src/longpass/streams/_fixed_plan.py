"""A comparison: chosen settings, a few seeds, instead of random ones."""

import dataclasses
import functools
from typing import Any

from longpass import _checks
from longpass._names import TaskName
from longpass.networks import MemoryName
from longpass.streams._settings import StreamSettings

# Where a memory does better than with the defaults. Gated ones forget again what they have
# learned over long truncations if their steps are as large as the pools'.
_GOOD: dict[str, dict[str, Any]] = {"lstm": {"learning_rate": 5e-4}, "gru": {"learning_rate": 5e-4}}


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Each memory at each truncation with good settings, so many seeds, as one sweep."""

    name: str
    task: TaskName
    memories: tuple[MemoryName, ...]
    truncations: tuple[int, ...]
    seeds: int
    symbols: int

    def check(self) -> None:
        """ValueError or TypeError where a setting is impossible."""
        _checks.positive_int("seeds", self.seeds)
        for i in range(len(self)):
            self.run(i)

    def __len__(self) -> int:
        return len(self.memories) * len(self.truncations) * self.seeds

    def run(self, i: int) -> StreamSettings:
        """The settings of run i: seeds first, then memories."""
        cell, seed = divmod(i, self.seeds)
        memory = self.memories[cell % len(self.memories)]
        return StreamSettings(
            task=self.task,
            memory=memory,
            truncation=self.truncations[cell // len(self.memories)],
            symbols=self.symbols,
            seed=seed,
            **_GOOD.get(memory, {}),
        ).resolved()

    @functools.cached_property
    def groups(self) -> list[tuple[int, ...]]:
        """The seeds of each cell learn together: they share one program."""
        return [
            tuple(range(first, first + self.seeds)) for first in range(0, len(self), self.seeds)
        ]

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in dataclasses.asdict(self).items()
        }
