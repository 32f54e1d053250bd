"""Results of sequence classification as a table, from the records below a folder."""

import json
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from longpass.records import NUMBER_OR_NONE, RECORDS, Line, Needs, Records, check_record
from longpass.streams._settings import KIND

CHANCE: dict[str, float] = {
    "two-markers": 1 / 4,
    "three-markers": 1 / 8,
    "subsequences": 1 / 4,
    "recall": 1 / 4,
    "previous": 1 / 4,
}
"""Accuracy by chance on each task."""

_COLUMNS = {
    "task": pl.String,
    "memory": pl.String,
    "truncation": pl.Int64,
    "batch_size": pl.Int64,
    "updates": pl.Int64,
    "accuracy": pl.Float64,
}


_MOST = 2**53  # of any number in a table
# What is read of a result.
_NEEDS: Needs = {
    "settings.task": str,
    "settings.memory": str,
    "settings.truncation": int,
    "settings.batch_size": int,
    "settings.symbols": int,
    "accuracy": NUMBER_OR_NONE,
}


def read_results(records: Path) -> pl.DataFrame:
    """Read the results of sequence classification in a folder and all folders below it.

    A run that is recorded twice, with the same settings, counts once. Runs with a `span` are left
    out: their task is not the paper's. A run that diverged has accuracy 0.

    **Arguments:**

    - `records`: a folder of `longpass classify` or `longpass sweep`, or one that holds such
      folders.

    **Returns:** one row per run, with the columns `task`, `memory`, `truncation`, `batch_size`,
    `updates` (of the weights, in a complete training) and `accuracy` (held-out); no row if there
    are no results. ValueError if the folder is not there.
    """
    records = Path(records)
    if not records.is_dir():
        raise ValueError(
            f"records is {str(records)!r}: it must be a folder of `longpass classify` or "
            f"`longpass sweep`, or one that holds such folders"
        )
    lines = []
    for file in sorted(records.rglob(RECORDS)):
        for line in Records(file).read_events("result", {"kind": str}):
            if line["kind"] == KIND:
                check_result(f"a result in {file}", line)
                lines.append(line)
    return tabulate_results(lines)


def check_result(where: str, line: Line) -> None:
    """ValueError if a result does not have what the table needs.

    **Arguments:**

    - `where`: where it stands, for the error.
    - `line`: the record.
    """
    check_record(where, line, _NEEDS)
    settings = line["settings"]
    for name in ("truncation", "batch_size", "symbols"):
        if not 1 <= settings[name] <= _MOST:
            raise ValueError(f"{where} has the settings.{name} {settings[name]}: it is damaged")


def tabulate_results(lines: Iterable[Line]) -> pl.DataFrame:
    """The results of sequence classification among some records, as `read_results` returns them.

    **Arguments:**

    - `lines`: the records, oldest first, which `check_result` has passed.

    **Returns:** one row per run.
    """
    runs: dict[str, Line] = {}
    for line in lines:
        if line.get("event") != "result" or line.get("kind") != KIND:
            continue
        # With a span the task is one of the benchmark, not the paper's.
        if line["settings"].get("span") is None:
            runs.setdefault(json.dumps(line["settings"], sort_keys=True), line)
    return pl.DataFrame([_make_row(line) for line in runs.values()], schema=_COLUMNS)


def _make_row(line: Line) -> dict[str, str | int | float]:
    settings, accuracy = line["settings"], line["accuracy"]
    truncation, batch_size = settings["truncation"], settings["batch_size"]
    return {
        "task": settings["task"],
        "memory": settings["memory"],
        "truncation": truncation,
        "batch_size": batch_size,
        # Not the line's own number, which is smaller where a run diverged.
        "updates": settings["symbols"] // (truncation * batch_size),
        "accuracy": 0.0 if accuracy is None else accuracy,
    }
