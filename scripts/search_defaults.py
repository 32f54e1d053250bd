"""Search for the defaults of each memory: a grid over Adam's learning rate, epsilon and sizes.

All else is left at the defaults of `StreamSettings`. Every run is recorded when it is finished, and
the same command continues a search that was stopped:

    python scripts/search_defaults.py --out results/defaults/short

results/README.md has the other commands that were run.
"""

import dataclasses
import itertools
import statistics
from pathlib import Path
from typing import Annotated, Any

import tyro

from longpass._fields import Bounds, check_settings
from longpass.jobs import LocalEngine
from longpass.memory import MemoryName, has_pools
from longpass.records import Line
from longpass.streams import LearnerName, StreamSettings, Sweep, TaskName, train_group


@dataclasses.dataclass(frozen=True)
class GridPlan:
    """Each memory at each truncation with each learning rate and epsilon, several seeds."""

    name: str = "defaults"
    """Name of the sweep."""
    task: TaskName = "two-markers"
    """Task."""
    memories: tuple[MemoryName, ...] = ("parallel", "chain", "lstm")
    """Memories."""
    truncations: tuple[int, ...] = (2, 128)
    """Truncation lengths."""
    learning_rates: tuple[float, ...] = (3e-5, 1e-4, 3e-4, 1e-3, 3e-3)
    """Adam's learning rates."""
    epsilons: tuple[float, ...] = (1e-6, 1e-4)
    """Adam's epsilons."""
    bases: tuple[float, ...] = ()
    """Bases of pools. Empty: the default; for memories with pools only."""
    num_pools: tuple[int, ...] = ()
    """Numbers of pools. Empty: the default; for memories with pools only."""
    sizes: tuple[int, ...] = ()
    """Units of each pool, or of a memory without pools (D). Empty: the default."""
    seeds: Annotated[int, Bounds(least=1)] = 2
    """Runs per point of the grid, with seeds from 0."""
    symbols: int | float = 12_000_000
    """Symbols to train each run on."""

    def check(self) -> None:
        """ValueError or TypeError if a setting is not allowed."""
        check_settings(self)
        for i in range(len(self)):
            self.settings(i)

    def __len__(self) -> int:
        """Number of runs."""
        return len(self._points())

    def settings(self, i: int) -> StreamSettings:
        """The settings of run `i`, complete. Seeds change fastest, memories slowest."""
        memory, truncation, base, num_pools, size, rate, epsilon, seed = self._points()[i]
        size_name = "pool_size" if has_pools(memory) else "state_size"
        settings = StreamSettings(
            task=self.task,
            memory=memory,
            truncation=truncation,
            symbols=self.symbols,
            base=base,
            num_pools=num_pools,
            **{size_name: size},
            learning_rate=rate,
            epsilon=epsilon,
            seed=seed,
        )
        return settings.resolved()

    def groups(self, learner: LearnerName | None = None) -> list[tuple[int, ...]]:
        """Every run for itself."""
        return [(i,) for i in range(len(self))]

    def _points(self) -> list[tuple[Any, ...]]:
        return list(
            itertools.product(
                self.memories,
                self.truncations,
                self.bases or (None,),
                self.num_pools or (None,),
                self.sizes or (None,),
                self.learning_rates,
                self.epsilons,
                range(self.seeds),
            )
        )


@dataclasses.dataclass
class Search:
    """Run what remains of a search and print what it found."""

    plan: GridPlan
    out: Path
    """Folder for the plan and the records."""
    workers: int = 1
    """Processes."""


def print_means(lines: list[Line]) -> None:
    """Print the mean accuracy of the seeds at each point of the grid; diverged runs count as 0."""
    names = ("memory", "truncation", "base", "num_pools", "pool_size", "state_size")
    names += ("learning_rate", "epsilon")
    points: dict[tuple[str, ...], list[float]] = {}
    for line in lines:
        point = tuple(str(line["settings"][name]) for name in names)
        points.setdefault(point, []).append(line["accuracy"] or 0.0)
    print(*names, "mean", "accuracies", sep="  ")
    for point, found in points.items():
        cells = [cell.rjust(len(name)) for name, cell in zip(names, point, strict=True)]
        print(*cells, f"{statistics.fmean(found):.3f}", *(f"{one:.3f}" for one in found), sep="  ")


def main() -> None:
    search = tyro.cli(Search, description=__doc__)
    sweep = Sweep(search.plan, search.out)
    for progress in sweep.run(LocalEngine(train_group, search.workers)):
        if progress.state == "failed":
            print(f"run {progress.job.id[0]} failed: {progress.error}", flush=True)
    print_means(sweep.results())


if __name__ == "__main__":
    main()
