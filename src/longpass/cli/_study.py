"""`longpass study NAME`."""

import dataclasses
import statistics
from pathlib import Path
from typing import TYPE_CHECKING

import tyro
from rich.console import Console, Group
from rich.table import Table

from longpass._json import JsonObject
from longpass.agents import StudyPlan
from longpass.cli._live import AnyProgress, LiveView, announce, conclude, follow, span
from longpass.cli._worlds import changed_params
from longpass.jobs import EngineName

if TYPE_CHECKING:
    from longpass.agents import StudyRun
    from longpass.records import Line


@dataclasses.dataclass
class RunStudy:
    """Train the agents of a study, many at a time, and record each as one line.

    A study may be stopped at any moment: the same command continues it. With more --runs it has
    more agents per cell.

      longpass study onset --runs 3 --out results/agents/onset
      longpass study returns --tasks t-maze --memories lstm --block-every 300 --out runs/lstm
      longpass figure lstm-onset
    """

    plan: tyro.conf.OmitArgPrefixes[StudyPlan]
    out: Path = Path("runs/study")
    """The study's folder; it is made if it is not there."""
    engine: EngineName = "local"
    """Where agents are trained: processes on this machine, or workers on a Ray cluster."""
    workers: int | None = None
    """Processes; by default one per core (of the cluster)."""
    address: str | None = None
    """For --engine ray: the cluster to join, auto for the one that runs on this machine; without
    it, one is started here for the study."""
    json: bool = False
    """Print one JSON object on standard output, and nothing else there."""

    def run(self, console: Console) -> JsonObject:
        from longpass.agents import Study, estimate_steps, train_study_run
        from longpass.jobs import make_engine

        # First the engine: Ray is to be started before JAX is used.
        with make_engine(self.engine, train_study_run, self.workers, self.address) as engine:
            study = Study(self.plan.name, self.plan.make_runs(), self.out)
            remaining = study.remaining()
            expected = sum(estimate_steps(job.payload.task.steps) for job in remaining)
            view = _View(len(study.runs), len(remaining), expected, engine.workers)
            recorded, workers = len(study.runs) - len(remaining), engine.workers
            what = f"{len(study.runs)} agents"
            announce(console, what, recorded, expected, workers, self.out, study.warning)
            stopped = follow(study.run(engine), view, console)
        cells = _summarise(study.runs, study.results())
        console.print(_table(cells))
        conclude(console, view, stopped)
        return {
            "command": "study",
            "out": str(self.out),
            "runs": len(study.runs),
            "done": sum(cell["runs"] for cell in cells),
            "failed": len(view.errors),
            "cells": cells,
            "ok": not view.errors,
        }


class _View(LiveView):
    """The state of a study: agents done and running, steps per second, time left."""

    def __init__(self, runs: int, remaining: int, expected: float, workers: int):
        from longpass.agents import estimate_steps

        super().__init__(lambda job: estimate_steps(job.payload.task.steps), expected, workers)
        self._runs, self._done = runs, runs - remaining
        self._steps = 0

    def on_progress(self, progress: AnyProgress) -> None:
        super().on_progress(progress)
        if progress.state == "failed":
            self.errors.append(f"agent {progress.job.id} failed: {progress.error}")
        elif progress.result is not None:
            self._done += 1
            self._steps += progress.result["steps"]

    def describe(self) -> str:
        return f"{self._done} of {self._runs} agents done, {len(self.errors)} failed"

    def __rich__(self) -> Group:
        partly = sum(one.fraction * one.job.payload.task.steps for one in self.running.values())
        totals = Table("done", "running", "failed", "steps/s", "time left")
        totals.add_row(
            f"{self._done} of {self._runs}",
            str(len(self.running)),
            str(len(self.errors)),
            f"{(self._steps + partly) / self.spent:,.0f}",
            span(self.left),
        )
        running = Table("task", "setting", "memory", "block every", "seed", "done", "return")
        for one in self.running.values():
            task, setting, memory, block_every = _cell(one.job.payload.task)
            running.add_row(
                task,
                setting,
                memory,
                str(block_every),
                str(one.job.payload.task.run.seed),
                f"{one.fraction:.0%}",
                " ".join(f"{value:.2f}" for value in one.scores),
            )
        return Group(totals, running)


def _cell(task: "StudyRun") -> tuple[str, str, str, int]:
    """(World, parameters that are not the paper's, memory, block_every)."""
    run = task.run
    setting = ", ".join(f"{name} {value}" for name, value in changed_params(run.params).items())
    return run.env, setting, run.agent.network.memory, run.agent.learner.block_every


def _summarise(runs: "list[StudyRun]", lines: "list[Line]") -> list[JsonObject]:
    """How agents did, for each cell that has results."""
    by_name = {line["name"]: line for line in lines}
    cells: dict[tuple[str, str, str, int], list[Line]] = {}
    for run in runs:
        if run.name in by_name:
            cells.setdefault(_cell(run), []).append(by_name[run.name])
    return [
        {
            "task": task,
            "setting": setting,
            "memory": memory,
            "block_every": block_every,
            "runs": len(found),
            "best": max(returns, default=None),
            "median": statistics.median(returns) if returns else None,
            "return_max": found[0]["return_max"],
            "solved": sum(line["solved"] for line in found),
            "diverged": sum(line["diverged"] is not None for line in found),
            "hours": round(sum(line["seconds"] for line in found) / 3600, 3),
        }
        for (task, setting, memory, block_every), found in cells.items()
        for returns in [[line["return_500"] for line in found if line["return_500"] is not None]]
    ]


def _table(cells: list[JsonObject]) -> Table:
    table = Table("task", "memory", "block", "n", "best", "median", "of", "solved", "hours")
    table.caption = "best, median: mean return of the last 500 episodes; n agents; core-hours"
    for cell in cells:
        returns = (cell["best"], cell["median"], cell["return_max"])
        table.add_row(
            "\n".join(filter(None, (cell["task"], cell["setting"]))),
            cell["memory"],
            str(cell["block_every"]),
            str(cell["runs"]),
            *("" if value is None else f"{value:.2f}" for value in returns),
            str(cell["solved"]),
            f"{cell['hours']:.2f}",
        )
    return table
