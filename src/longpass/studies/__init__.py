"""One file a figure: its settings, what it computes, and how it is drawn."""

import importlib
from collections.abc import Sequence
from pathlib import Path

# Figures that are drawn from records of runs.
FROM_RECORDS = ("truncation", "batch-size")


def draw(name: str, out: Path, records: Path | None = None, suffix: str = "") -> list[Path]:
    """Draw the figure `name` (such as `memory-trace`) into folder `out`; the files written.

    Those in `FROM_RECORDS` need the folder with `records`; `suffix` goes to their files' names.
    """
    study = importlib.import_module(f"longpass.studies.{name.replace('-', '_')}")
    return study.draw(out, records, suffix) if name in FROM_RECORDS else study.draw(out)


def draw_runs(name: str, out: Path, runs: Sequence[Path]) -> list[Path]:
    """Draw a figure that shows runs of agents (`learning`, `conditioning`) into folder `out`."""
    return importlib.import_module(f"longpass.studies.{name}").draw(out, runs)
