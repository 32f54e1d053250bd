"""`longpass benchmark`."""

import dataclasses
from pathlib import Path
from typing import Annotated

from rich import box
from rich.console import Console
from rich.table import Table

from longpass._fields import OPTIONS_FLAG
from longpass._json import JsonObject
from longpass._options import NO_OPTIONS, Options
from longpass.cli._factory import check_factory
from longpass.cli._sweep import follow_sweep
from longpass.jobs import EngineName
from longpass.streams import BenchmarkPlan, BenchmarkPreset, benchmark_preset

_RESULTS = Path("results/benchmark")


@dataclasses.dataclass
class Benchmark:
    """Which memory still learns over long delays when gradients are cut after a few steps?

    All memories have about 4,000 parameters in all, the same random settings and the same number
    of symbols. A run is recorded when it is finished: the same command continues.

      longpass benchmark                                     # quick: minutes
      longpass benchmark --preset laptop                     # hours
      longpass benchmark --memory my_project.memories:make_memory --memory-options size=117
      longpass benchmark --show results/benchmark --markdown # the table, from records
      longpass figure benchmark --records results/benchmark

    A factory is code that you name: it is imported and called.
    """

    preset: BenchmarkPreset = "quick"
    """How much to run: minutes or hours."""
    memory: str | None = None
    """Run this memory only: one of the benchmark's by its name there, or package.module:factory."""
    memory_options: Annotated[Options, OPTIONS_FLAG] = NO_OPTIONS
    """Further arguments of the factory."""
    runs: int | None = None
    """Runs per cell, instead of the preset's."""
    symbols: int | None = None
    """Symbols per run, instead of the preset's."""
    out: Path | None = None
    """Folder for the plan and the records; by default below results/benchmark, named after preset
    and memory."""
    show: Path | None = None
    """Train nothing: print the table of all benchmarks in this folder and those below it."""
    markdown: bool = False
    """Print the table as Markdown."""
    engine: EngineName = "local"
    """Where runs are trained: processes on this machine, or workers on a Ray cluster."""
    workers: int | None = None
    """Processes; by default one per core (of the cluster)."""
    address: str | None = None
    """For --engine ray: the cluster to join, auto for the one that runs on this machine; without
    it, one is started here for the benchmark."""
    json: bool = False
    """Print one JSON object on standard output, and nothing else there."""

    def run(self, console: Console) -> JsonObject:
        """Run what remains of the benchmark; what `--json` prints."""
        if self.show is not None:
            scores = self._print_scores(self.show, console)
            return {"command": "benchmark", "records": str(self.show), "memories": scores}
        from longpass.jobs import make_engine
        from longpass.streams import Sweep, check_parameters, train_and_measure

        plan = self.plan()
        plan.check()
        out = self.folder()
        scores: list[JsonObject] = []

        def show_results() -> None:
            scores.extend(self._print_scores(out, console))

        with make_engine(self.engine, train_and_measure, self.workers, self.address) as engine:
            for memory in plan.memories:
                check_factory(console, memory, self.memory_options)
            check_parameters(plan)
            result = follow_sweep(Sweep(plan, out, "jax"), engine, console, show_results)
        return {"command": "benchmark", **result, "memories": scores}

    def plan(self) -> BenchmarkPlan:
        """The benchmark that these flags ask for."""
        changes: dict[str, object] = {"memory_options": self.memory_options}
        if self.memory is not None:
            changes["memories"] = (self.memory,)
        elif self.memory_options:
            raise ValueError("memory_options is set, but memory is not: it must name a factory")
        for name in ("runs", "symbols"):
            if getattr(self, name) is not None:
                changes[name] = getattr(self, name)
        return dataclasses.replace(benchmark_preset(self.preset), **changes)

    def folder(self) -> Path:
        """Where the records go."""
        if self.out is not None:
            return self.out
        own = "" if self.memory is None else f"-{self.memory}"
        words = (one if one.isalnum() else "-" for one in f"{self.preset}{own}")
        return _RESULTS / "".join(words)

    def _print_scores(self, records: Path, console: Console) -> list[JsonObject]:
        from longpass.streams import read_benchmark, score_memories, tabulate_scores

        scores = score_memories(read_benchmark(records))
        rows = tabulate_scores(scores)
        if self.markdown:
            text = make_markdown(rows)
            console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            console.print(_make_table(rows))
        return [dataclasses.asdict(score) for score in scores]


def make_markdown(rows: list[list[str]]) -> str:
    """A table in Markdown; the first row is the header."""
    header, *others = rows
    lines = [header, ["---"] * len(header), *others]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _make_table(rows: list[list[str]]) -> Table:
    header, *others = rows
    table = Table(box=box.SIMPLE, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for name, *cells in zip(header, *others, strict=True):
        # Where the terminal is narrow, headers are wrapped and cells are not.
        table.add_column(name, min_width=max(map(len, cells), default=0))
    for row in others:
        table.add_row(*row)
    return table
