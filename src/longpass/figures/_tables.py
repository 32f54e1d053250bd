"""Records as tables, and what can be said of them."""

from pathlib import Path

import polars as pl
from scipy.stats import binomtest

from longpass.records._records import Records

SOLVED = 0.95  # accuracy from which on a task counts as solved


def runs_table(path: Path) -> pl.DataFrame:
    """One row a run of sequence classification, from every `runs.jsonl` in a folder or below it.

    Columns are the settings and scores that figures need. ValueError if there are no records.
    """
    files = sorted(Path(path).rglob("runs.jsonl"))
    records = [record for file in files for record in Records(file).read()]
    if not records:
        raise ValueError(
            f"there are no records of runs in {path}: make some with `longpass sweep`, or name "
            f"another folder"
        )
    rows = [
        {
            "sweep": record["sweep"],
            "task": record["settings"]["task"],
            "memory": record["settings"]["memory"],
            "truncation": record["settings"]["truncation"],
            "batch_size": record["settings"]["batch_size"],
            "symbols": record["symbols"],
            "accuracy": record["accuracy"],
            "diverged": record["diverged"] is not None,
        }
        for record in records
    ]
    return pl.DataFrame(rows, schema_overrides={"accuracy": pl.Float64})


def share(successes: int, count: int) -> tuple[float, float, float]:
    """(Share, lower and upper end of its 95 % interval, by Wilson's score)."""
    interval = binomtest(successes, count).proportion_ci(0.95, method="wilson")
    return successes / count, interval.low, interval.high
