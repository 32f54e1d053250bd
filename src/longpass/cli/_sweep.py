"""`longpass sweep`, and the live view of any sweep."""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.table import Table

from longpass._json import JsonObject
from longpass.cli._factory import check_factory
from longpass.cli._live import AnyProgress, LiveView, announce, conclude, follow, span
from longpass.jobs import Engine, EngineName
from longpass.streams import LearnerName, SweepPlan

if TYPE_CHECKING:
    from longpass.records import Line
    from longpass.streams import StreamSettings, Sweep


@dataclasses.dataclass
class RunSweep:
    """Train many networks with settings drawn at random from the paper's table.

    Run i is a pure function of the sweep's name, its seed and i. Each run is recorded when it is
    finished: stop a sweep at any moment and start it again, nothing is lost or run twice.

      longpass sweep --tasks two-markers --truncations 2 16 128 --runs 10 --symbols 4e6
      longpass figure truncation --records results/sweep
    """

    plan: SweepPlan
    out: Path = Path("results/sweep")
    """Folder for the plan and the records."""
    engine: EngineName = "local"
    """Where runs are trained: processes on this machine, or workers on a Ray cluster."""
    learner: LearnerName | None = None
    """What computes the updates: native code for CPUs (Numba), or JAX. By default native code where
    there is any; both compute the same, up to rounding."""
    workers: int | None = None
    """Processes; by default one per core (of the cluster)."""
    address: str | None = None
    """For --engine ray: the cluster to join, auto for the one that runs on this machine; without
    it, one is started here for the sweep."""
    json: bool = False
    """Print one JSON object on standard output, and nothing else there."""

    def run(self, console: Console) -> JsonObject:
        """Run what remains of the sweep; what `--json` prints."""
        from longpass.jobs import make_engine
        from longpass.streams import Sweep, train_group

        self.plan.check()
        work = functools.partial(train_group, learner=self.learner)
        with make_engine(self.engine, work, self.workers, self.address) as engine:
            for memory in self.plan.memories:
                check_factory(console, memory, self.plan.memory_options)
            sweep = Sweep(self.plan, self.out, self.learner)
            return {"command": "sweep", **run_sweep(sweep, engine, console)}


def run_sweep(
    sweep: "Sweep", engine: "Engine[Sequence[StreamSettings], list[Line]]", console: Console
) -> JsonObject:
    """Run what remains of a sweep, with a live view.

    **Arguments:**

    - `sweep`: the sweep.
    - `engine`: runs `longpass.streams.train_group`.
    - `console`: where to print.

    **Returns:** what `--json` prints.
    """
    cells: list[JsonObject] = []

    def show_cells() -> None:
        cells.extend(sweep.summary())
        console.print(_table(cells))

    result = follow_sweep(sweep, engine, console, show_cells)
    return {**result, "cells": cells}


def follow_sweep(
    sweep: "Sweep",
    engine: "Engine[Sequence[StreamSettings], list[Line]]",
    console: Console,
    show_results: Callable[[], None],
) -> JsonObject:
    """Run what remains of a sweep, with a live view and what `show_results` prints at the end.

    **Returns:** counts of runs, for `--json`.
    """
    from longpass.streams import estimate_seconds

    expected = {job.id: estimate_seconds(job.payload, sweep.learner) for job in sweep.remaining()}
    view = SweepView(len(sweep.plan), expected, engine.workers)
    what, seconds = f"{len(sweep.plan)} runs", sum(expected.values())
    announce(console, what, view.done, seconds, engine.workers, sweep.out, sweep.warning)
    stopped = follow(sweep.run(engine), view, console)
    show_results()
    conclude(console, view, stopped)
    return {
        "out": str(sweep.out),
        "runs": len(sweep.plan),
        "done": len(sweep.done()),
        "failed": view.failed,
        "seconds": round(view.spent, 1),
        "ok": view.failed == 0,
    }


class SweepView(LiveView):
    """The state of a sweep: runs done, running and failed, symbols per second, time left.

    **Arguments:**

    - `runs`: how many there are, recorded ones included.
    - `expected`: the core-seconds of each job that remains, by its id: the numbers of its runs.
    - `workers`: how many jobs run at a time.
    """

    def __init__(self, runs: int, expected: dict[tuple[int, ...], float], workers: int):
        super().__init__(lambda job: expected[job.id], sum(expected.values()), workers)
        self.failed = 0
        self.done = runs - sum(map(len, expected))
        self._runs = runs
        self._symbols = 0

    def on_progress(self, progress: AnyProgress) -> None:
        super().on_progress(progress)
        runs = progress.job.id
        if progress.state == "failed":
            self.failed += len(runs)
            self.errors.append(f"run {runs[0]} failed: {progress.error}")
        elif progress.result is not None:
            self.done += len(runs)
            self._symbols += sum(line["symbols"] for line in progress.result)

    def describe(self) -> str:
        return f"{self.done} of {self._runs} runs done, {self.failed} failed"

    def __rich__(self) -> Group:
        partly = sum(
            one.fraction * sum(s.symbols for s in one.job.payload) for one in self.running.values()
        )
        rate = (self._symbols + partly) / self.spent
        totals = Table("done", "running", "failed", "symbols/s", "time left")
        totals.add_row(
            f"{self.done} of {self._runs}",
            str(sum(map(len, self.running))),
            str(self.failed),
            f"{rate / 1e6:.2f}M",
            span(self.left),
        )
        running = Table("task", "memory", "truncation", "batch", "done", "accuracy")
        for one in self.running.values():
            settings = one.job.payload[0]
            running.add_row(
                settings.task,
                settings.memory,
                str(settings.truncation),
                str(settings.batch_size),
                f"{one.fraction:.0%}",
                " ".join(f"{value:.2f}" for value in one.scores),
            )
        return Group(totals, running)


def _table(cells: list[JsonObject]) -> Table:
    table = Table("task", "memory", "truncation", "runs", "best", ">= 95 %", "diverged")
    for cell in cells:
        table.add_row(
            cell["task"],
            cell["memory"],
            str(cell["truncation"]),
            str(cell["runs"]),
            f"{cell['best']:.4f}",
            str(cell["solved"]),
            str(cell["diverged"]),
        )
    return table
