"""Results of sequence classification as a table, and intervals of proportions."""

from pathlib import Path

import polars as pl
from scipy.stats import binomtest

from longpass.records import RECORDS, Records
from longpass.streams import KIND


def read_results(path: Path) -> pl.DataFrame:
    """Read the results of sequence classification in a folder and all folders below it.

    **Arguments:**

    - `path`: a folder of `longpass classify` or `longpass sweep`, or one that holds such folders.

    **Returns:** one row per run; the columns are those settings and scores that figures need.
    ValueError if there are no results.
    """
    lines = [line for file in sorted(Path(path).rglob(RECORDS)) for line in Records(file).read()]
    rows = [
        {
            "task": line["settings"]["task"],
            "memory": line["settings"]["memory"],
            "truncation": line["settings"]["truncation"],
            "batch_size": line["settings"]["batch_size"],
            "accuracy": line["accuracy"],
        }
        for line in lines
        if line.get("event") == "result" and line.get("kind") == KIND
    ]
    if not rows:
        raise ValueError(
            f"records is {str(path)!r}, which has no results of sequence classification: it must "
            f"be a folder of `longpass classify` or `longpass sweep`"
        )
    return pl.DataFrame(rows, schema_overrides={"accuracy": pl.Float64})


def proportion_interval(successes: int, count: int) -> tuple[float, float, float]:
    """(Proportion, lower and upper end of its 95 % interval by Wilson's score)."""
    interval = binomtest(successes, count).proportion_ci(0.95, method="wilson")
    return successes / count, interval.low, interval.high
