"""One file per figure: which records it reads, what it computes, and how it is drawn."""

import importlib
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from longpass._extras import explain_missing
from longpass.agents import Axis

# Figures that are drawn from a folder with records: of classification, and of agents.
FROM_RECORDS = ("truncation", "batch-size", "benchmark")
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

    **Returns:**

    The files that were written.
    """
    figure = _load_figure(name)
    if name in FROM_AGENTS:
        return figure.draw(out, records, suffix, over=over or "episodes")
    if over is not None:
        listed = ", ".join(FROM_AGENTS)
        raise ValueError(f"over is {over!r}: only {listed} are drawn over something else")
    if name in FROM_RECORDS:
        return figure.draw(out, records, suffix)
    return figure.draw(out)


def draw_runs(name: str, out: Path, runs: Sequence[Path]) -> list[Path]:
    """Draw a figure of named runs into a folder.

    **Arguments:**

    - `name`: `learning`, `conditioning` or `lineage`.
    - `out`: the folder.
    - `runs`: folders of runs, or of a population.

    **Returns:**

    The files that were written.
    """
    return _load_figure(name).draw(out, runs)


def _load_figure(name: str) -> ModuleType:
    module = f"longpass.figures.{name.replace('-', '_')}"
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise explain_missing(error, module) from error
