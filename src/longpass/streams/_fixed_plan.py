"""The plan of a sweep with chosen settings and a few seeds, instead of random ones."""

import dataclasses
from typing import Annotated

from longpass._fields import Bounds, check_settings
from longpass.memory import MemoryName
from longpass.streams._settings import (
    LearnerName,
    StreamSettings,
    TaskName,
    choose_learner,
)


@dataclasses.dataclass(frozen=True)
class FixedPlan:
    """The runs of a sweep: each memory at each truncation with its defaults, several seeds.

    >>> plan = FixedPlan("short", "two-markers", ("chain", "lstm"), (2, 16), seeds=3, symbols=1000)
    >>> len(plan)
    12
    """

    name: str
    """Name of the sweep."""
    task: TaskName
    """Task."""
    memories: tuple[MemoryName, ...]
    """Memories."""
    truncations: Annotated[tuple[int, ...], Bounds(least=1, most=100_000)]
    """Truncation lengths."""
    seeds: Annotated[int, Bounds(least=1, most=10_000)]
    """Runs per memory and truncation, with seeds from 0."""
    symbols: int
    """Symbols to train each run on."""

    def check(self) -> None:
        """ValueError or TypeError if a setting is not allowed."""
        check_settings(self)
        for i in range(len(self)):
            self.settings(i)

    def __len__(self) -> int:
        """Number of runs."""
        return len(self.memories) * len(self.truncations) * self.seeds

    def settings(self, i: int) -> StreamSettings:
        """The settings of run `i`, complete. Seeds change fastest, then memories."""
        cell, seed = divmod(i, self.seeds)
        memory = self.memories[cell % len(self.memories)]
        settings = StreamSettings(
            task=self.task,
            memory=memory,
            truncation=self.truncations[cell // len(self.memories)],
            symbols=self.symbols,
            seed=seed,
        )
        return settings.resolved()

    def groups(self, learner: LearnerName | None = None) -> list[tuple[int, ...]]:
        """All runs, in groups that are trained together: by JAX, the seeds of each cell.

        **Arguments:**

        - `learner`: what computes the updates. Native code trains runs one by one.
        """
        groups: list[tuple[int, ...]] = []
        for first in range(0, len(self), self.seeds):
            cell = tuple(range(first, first + self.seeds))
            native = choose_learner(self.settings(first), learner) == "native"
            groups += [(i,) for i in cell] if native else [cell]
        return groups
