"""One file per figure: which records it reads, what it computes, and how it is drawn."""

import importlib
from collections.abc import Sequence
from pathlib import Path

# Figures that are drawn from a folder with records: of classification, and of agents.
FROM_RECORDS = ("truncation", "batch-size")
FROM_AGENTS = ("rl", "rl-raw", "lstm-onset")
TOP = 3
"""A population's curve is the mean of this many of its best members."""


def draw(name: str, out: Path, records: Path | None = None, suffix: str = "") -> list[Path]:
    """Draw the figure `name` (such as `memory-trace`) into the folder `out`.

    Those in `FROM_RECORDS` and `FROM_AGENTS` are drawn from the folder `records`; `suffix` goes to
    their files' names.
    """
    study = importlib.import_module(f"longpass.figures.{name.replace('-', '_')}")
    if name in FROM_RECORDS + FROM_AGENTS:
        return study.draw(out, records, suffix)
    return study.draw(out)


def draw_runs(name: str, out: Path, runs: Sequence[Path]) -> list[Path]:
    """Draw a figure of named runs (`learning`, `conditioning`, `lineage`) into folder `out`."""
    return importlib.import_module(f"longpass.figures.{name}").draw(out, runs)
