"""Runs per hour of whole sweeps: by native code and by programs that JAX compiles.

Both run the same first runs of the preset `laptop`, three per cell of the paper's figure, with
processes on all cores, from the start of the processes to the last record. Beside it stands the
time that was estimated before.
"""

import dataclasses
import functools
import tempfile
import time
from pathlib import Path
from typing import Any, get_args

from rich.console import Console
from rich.table import Table

from benchmarks._timing import machine
from longpass.jobs import LocalEngine, available_cores
from longpass.streams import (
    LearnerName,
    Sweep,
    SweepPlan,
    estimate_seconds,
    sweep_preset,
    train_group,
)

RUNS_PER_CELL = 3


def main(console: Console) -> dict[str, Any]:
    laptop = sweep_preset("laptop")
    assert isinstance(laptop, SweepPlan)
    plan = dataclasses.replace(laptop, runs=RUNS_PER_CELL)
    rows = {learner: time_sweep(plan, learner) for learner in reversed(get_args(LearnerName))}
    table = Table(
        "learner", "runs", "seconds", "estimated", "runs per hour", "chain", "parallel", "lstm",
        title=f"the first {len(plan)} runs of the preset laptop",
        caption=f"chain, parallel, lstm: mean seconds per run; {machine()}",
    )  # fmt: skip
    for learner, row in rows.items():
        table.add_row(
            learner,
            str(row["runs"]),
            f"{row['seconds']:.0f}",
            f"{row['estimated']:.0f}",
            f"{row['per_hour']:.0f}",
            *(f"{row[memory]:.1f}" for memory in plan.memories),
        )
    console.print(table)
    ratio = rows["native"]["per_hour"] / rows["jax"]["per_hour"]
    console.print(f"native code: {ratio:.1f} times as many runs per hour (target: 4)")
    return {"learners": rows, "ratio": ratio}


def time_sweep(plan: SweepPlan, learner: LearnerName) -> dict[str, Any]:
    """Run a sweep in a folder that is deleted afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        sweep = Sweep(plan, Path(folder), learner)
        for _ in sweep.run(LocalEngine(functools.partial(train_group, learner=learner))):
            pass
        seconds = time.perf_counter() - began
        results = sweep.results()
    settings = [plan.settings(i) for i in range(len(plan))]
    estimated = estimate_seconds(settings, learner) / len(available_cores())
    assert len(results) == len(plan)
    row: dict[str, Any] = {
        "runs": len(plan),
        "seconds": seconds,
        "estimated": estimated,
        "per_hour": 3600 * len(plan) / seconds,
    }
    for memory in plan.memories:
        own = [line["seconds"] for line in results if line["settings"]["memory"] == memory]
        row[memory] = sum(own) / len(own)
    return row


if __name__ == "__main__":
    main(Console())
