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
# Figures that are drawn from runs that are named.
FROM_RUNS = ("learning", "conditioning", "lineage")


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
    - `records`: the folder with the records, for figures in `FROM_RECORDS` and `FROM_AGENTS`; None
      for all others.
    - `suffix`: goes to the names of the files of figures from records.
    - `over`: what curves are drawn over, for those in `FROM_AGENTS` (None: episodes); None for all
      others.

    **Returns:**

    The files that were written.
    """
    check_options(name, records=records, over=over)
    figure = _load_figure(name)
    if name in FROM_AGENTS:
        return figure.draw(out, records, suffix, over=over or "episodes")
    if name in FROM_RECORDS:
        return figure.draw(out, records, suffix)
    return figure.draw(out)


def check_options(
    name: str,
    runs: Sequence[Path] = (),
    records: Path | None = None,
    over: Axis | None = None,
) -> None:
    """Raise ValueError for the first option that a figure does not take.

    **Arguments:**

    - `name`: of the figure.
    - `runs`: folders of runs; for those in `FROM_RUNS` only.
    - `records`: a folder with records; for those in `FROM_RECORDS` and `FROM_AGENTS` only.
    - `over`: what curves are drawn over; for those in `FROM_AGENTS` only.
    """
    for option, value, names in (
        ("runs", runs[0] if runs else None, FROM_RUNS),
        ("records", records, FROM_RECORDS + FROM_AGENTS),
        ("over", over, FROM_AGENTS),
    ):
        if value is not None and name not in names:
            listed = ", ".join(names)
            raise ValueError(
                f"{option} is {str(value)!r}: it must be left out for {name}, it is for {listed}"
            )


def draw_runs(name: str, out: Path, runs: Sequence[Path]) -> list[Path]:
    """Draw a figure of named runs into a folder.

    **Arguments:**

    - `name`: one in `FROM_RUNS`.
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
