"""`longpass sweep`, and the live view of any sweep."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.table import Table

from longpass._settings import PlanFields
from longpass.cli._live import Work, follow, span
from longpass.jobs import Engine, EngineName, JobProgress

if TYPE_CHECKING:
    from longpass.streams import Sweep


@dataclasses.dataclass
class RunSweep:
    """Train many networks with settings drawn at random from the paper's table.

    Run i is a pure function of the sweep's name, its seed and i. Each run's record is on the disk
    when it is done: stop a sweep at any moment and start it again, nothing is lost or run twice.

      longpass sweep --tasks two-markers --truncations 2 16 128 --runs 10 --symbols 4e6
      longpass figure truncation --records results/sweep
    """

    plan: PlanFields
    out: Path = Path("results/sweep")
    """Folder for the plan and the records."""
    engine: EngineName = "local"
    """Where runs are trained: processes on this machine, or workers on a Ray cluster."""
    workers: int | None = None
    """Processes; by default one per core (of the cluster)."""
    address: str | None = None
    """For --engine ray: the cluster to join, auto for the one that runs on this machine; without
    it, one is started here for the sweep."""
    json: bool = False
    """Print one JSON object on standard output, and nothing else there."""

    def run(self, console: Console) -> dict[str, Any]:
        from longpass.jobs import make_engine
        from longpass.streams import Plan, Sweep, train

        plan = Plan(**dataclasses.asdict(self.plan))
        plan.check()
        with make_engine(self.engine, train, self.workers, self.address) as engine:
            sweep = Sweep(plan, self.out)
            return {"command": "sweep", **run_sweep(sweep, engine, console)}


def run_sweep(sweep: "Sweep", engine: Engine[Any, Any], console: Console) -> dict[str, Any]:
    """Run what a sweep has left, with a live view; what `--json` prints."""
    from longpass.streams import estimate

    if sweep.warning:
        console.print(f"longpass: {sweep.warning}", style="yellow", markup=False, soft_wrap=True)
    jobs = sweep.left()
    expected = {job.id: estimate(job.payload) for job in jobs}
    view = _View(sweep, expected, engine.workers)
    if jobs:
        done = len(sweep.plan) - sum(len(job.id) for job in jobs)
        already = f", {done} are recorded already" if done else ""
        time = span(sum(expected.values()) / engine.workers)
        console.print(
            f"{len(sweep.plan)} runs{already}; about {time} on {engine.workers} workers, into "
            f"{sweep.out}",
            highlight=False,
            soft_wrap=True,
        )
    stopped = follow(sweep.run(engine), view, console)
    console.print(_cells(sweep))
    if stopped:
        console.print("stopped: the same command goes on from here")
        raise KeyboardInterrupt
    for error in view.errors:
        console.print(f"longpass: {error}", style="red", markup=False, soft_wrap=True)
    return {
        "out": str(sweep.out),
        "runs": len(sweep.plan),
        "done": len(sweep.done()),
        "failed": view.failed,
        "seconds": round(view.spent, 1),
        "cells": sweep.summary(),
        "ok": view.failed == 0,
    }


class _View(Work):
    """The state of a sweep, as it renders itself: done, running, failed, rate, time left."""

    def __init__(self, sweep: "Sweep", expected: dict[tuple[int, ...], float], workers: int):
        super().__init__(lambda job: expected[job.id], sum(expected.values()), workers)
        self.failed = 0
        self._total = len(sweep.plan)
        self._done = self._total - sum(map(len, expected))
        self._symbols = 0

    def on_progress(self, progress: JobProgress[Any, Any]) -> None:
        super().on_progress(progress)
        runs = progress.job.id
        if progress.state == "failed":
            self.failed += len(runs)
            self.errors.append(f"run {runs[0]} failed: {progress.error}")
        elif progress.result is not None:
            self._done += len(runs)
            self._symbols += sum(record["symbols"] for record in progress.result)

    def __rich__(self) -> Group:
        partly = sum(
            one.fraction * sum(s.symbols for s in one.job.payload) for one in self.running.values()
        )
        rate = (self._symbols + partly) / self.spent
        totals = Table("done", "running", "failed", "symbols/s", "time left")
        totals.add_row(
            f"{self._done} of {self._total}",
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


def _cells(sweep: "Sweep") -> Table:
    table = Table("task", "memory", "truncation", "runs", "best", ">= 95 %", "diverged")
    for cell in sweep.summary():
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
