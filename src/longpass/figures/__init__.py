"""One file per figure: which records it reads, what it computes, and how it is drawn."""

import importlib
from collections.abc import Sequence
from pathlib import Path

from longpass.agents import Axis

# Figures that are drawn from a folder with records: of classification, and of agents.
FROM_RECORDS = ("truncation", "batch-size")
FROM_AGENTS = ("rl", "rl-raw", "lstm-onset")


def draw(
    name: str,
    out: Path,
    records: Path | None = None,
    suffix: str = "",
    over: Axis | None = None,
) -> list[Path]:
    """Draw a figure into a folder.

    **Arguments:**

    - `name`: of the figure, such as `memory-trace`.
    - `out`: the folder.
    - `records`: the folder with the records, for figures in `FROM_RECORDS` and `FROM_AGENTS`.
    - `suffix`: goes to their files' names.
    - `over`: what curves are drawn over, for those in `FROM_AGENTS`; None: episodes.
    """
    figure = importlib.import_module(f"longpass.figures.{name.replace('-', '_')}")
    if name in FROM_AGENTS:
        return figure.draw(out, records, suffix, over=over or "episodes")
    if over is not None:
        listed = ", ".join(FROM_AGENTS)
        raise ValueError(f"over is {over!r}: only {listed} are drawn over something else")
    if name in FROM_RECORDS:
        return figure.draw(out, records, suffix)
    return figure.draw(out)


def draw_runs(name: str, out: Path, runs: Sequence[Path]) -> list[Path]:
    """Draw a figure of named runs (`learning`, `conditioning`, `lineage`) into folder `out`."""
    return importlib.import_module(f"longpass.figures.{name}").draw(out, runs)
