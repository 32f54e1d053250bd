"""Scores of many runs by one of their settings: the paper's figure 4 and its supplement."""

from pathlib import Path

import numpy as np
import polars as pl
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from longpass._intervals import proportion_interval
from longpass.figures import _style
from longpass.figures.looks import DASHES, MEMORIES, TASKS
from longpass.streams import CHANCE, SOLVED, read_results

_SYMBOLS = {"chain": "o", "parallel": "s", "lstm": "^", "gru": "D"}
_SPACING = 0.27  # of memories at one value, of 1 from value to value
_WIDTH = 0.2  # of boxes and clouds of dots
_LEAST = 4  # runs: of fewer there are no quartiles
_ROW = 8  # points: height of a row of numbers below the panels


def _title(memory: str) -> str:
    """What a memory is called; a factory of another package by its own name."""
    return MEMORIES[memory][0] if memory in MEMORIES else memory


def _colour(memory: str) -> str:
    return MEMORIES[memory][1] if memory in MEMORIES else _style.GREY


def draw_by(column: str, label: str, records: Path, out: Path, name: str) -> list[Path]:
    """Draw the accuracies of all runs, above the proportion of runs that solve the task.

    **Arguments:**

    - `column`: the setting by which runs are compared.
    - `label`: of the axis of that setting.
    - `records`: the folder with the records.
    - `out`: the folder for the files.
    - `name`: of the files, without an ending.

    **Returns:** the files written. ValueError if there are no results.
    """
    table = read_results(records)
    if table.is_empty():
        raise ValueError(
            f"records is {str(records)!r}, which has no results of sequence classification: it "
            f"must be a folder of `longpass classify` or `longpass sweep`"
        )
    shown = [task for task in TASKS if task in table["task"].unique()]
    found = table["memory"].unique().to_list()
    memories = [one for one in MEMORIES if one in found]
    memories += sorted(set(found) - set(MEMORIES))
    with _style.styled():
        figure = _style.new(max(4.6, 0.9 + 2.1 * len(shown)), 4.6)
        axes = figure.subplots(
            2, len(shown), sharex="col", sharey="row", squeeze=False, height_ratios=(3, 2)
        )
        for above, below, task in zip(*axes, shown, strict=True):
            runs = table.filter(pl.col("task") == task)
            above.set_title(f"{TASKS[task]}\nn = {len(runs):,}", fontsize=8)
            above.axhline(CHANCE[task], color=_style.GREY, linewidth=0.8, linestyle=":")
            _panel(above, below, runs, column, memories)
            below.set_xlabel(label, labelpad=5 + _ROW * len(memories))
        axes[0, 0].set_ylabel("held-out accuracy")
        axes[1, 0].set_ylabel(f"proportion of runs\nat {SOLVED:g} or more\n(95 % interval)")
        axes[0, 0].set_ylim(-0.02, 1.03)
        axes[1, 0].set_ylim(bottom=0)
        _name_rows(axes[1, 0], memories)
        _add_legends(figure, memories)
        return _style.save(figure, out, name)


def _panel(above: Axes, below: Axes, runs: pl.DataFrame, column: str, memories: list[str]) -> None:
    """Draw the runs of one task."""
    values = sorted(runs[column].unique())
    rng = np.random.default_rng(0)  # of the jitter
    for order, memory in enumerate(memories):
        colour, dashes = _colour(memory), _style.dash(DASHES.get(memory, ()))
        best, solved, spots = [], [], []
        for place, value in enumerate(values):
            cell = runs.filter(pl.col("memory") == memory, pl.col(column) == value)
            scores = cell["accuracy"].to_numpy()
            _write_number(below, place, order, str(len(scores)), colour)
            if len(scores) == 0:
                continue
            spot = place + _SPACING * (order - (len(memories) - 1) / 2)
            _cell(above, spot, scores, colour, rng)
            spots.append(spot)
            best.append(scores.max())
            solved.append(proportion_interval(int((scores >= SOLVED).sum()), len(scores)))
        if not spots:
            continue
        above.plot(
            spots,
            best,
            _SYMBOLS.get(memory, "v"),
            color=colour,
            linestyle=dashes,
            markersize=2.5,
            zorder=4,
        )
        middle, low, high = np.array(solved).T
        errors = np.clip([middle - low, high - middle], 0, None)
        line, _, _ = below.errorbar(
            spots,
            middle,
            errors,
            color=colour,
            fmt=_SYMBOLS.get(memory, "v"),
            markersize=3,
            elinewidth=0.8,
            clip_on=False,
        )
        line.set_linestyle(dashes)
    for ax in (above, below):
        ax.set_xticks(range(len(values)), [str(value) for value in values])
        ax.set_xlim(-0.6, len(values) - 0.4)
    below.tick_params(axis="x", pad=1)


def _cell(
    ax: Axes,
    spot: float,
    scores: Float[np.ndarray, " runs"],
    colour: str,
    rng: np.random.Generator,
) -> None:
    """Draw the runs of one cell as dots and, if there are several, their quartiles as a box."""
    jitter = rng.uniform(-_WIDTH / 2, _WIDTH / 2, len(scores))
    faint = np.clip(10 / len(scores), 0.08, 0.6)
    # As an image also in the SVG, which would be large otherwise.
    ax.scatter(spot + jitter, scores, s=3, color=colour, alpha=faint, linewidths=0, rasterized=True)
    if len(scores) < _LEAST:
        return
    low, median, high = np.quantile(scores, (0.25, 0.5, 0.75))
    ax.bar(
        spot,
        high - low,
        _WIDTH,
        bottom=low,
        facecolor=(colour, 0.25),
        edgecolor=colour,
        linewidth=0.6,
        zorder=3,
    )
    ax.hlines(median, spot - _WIDTH / 2, spot + _WIDTH / 2, color=colour, linewidth=1.6, zorder=3)


def _write_number(ax: Axes, place: int, row: int, text: str, colour: str) -> None:
    """Write a number below a panel."""
    ax.annotate(
        text,
        (place, 0),
        (0, -14 - _ROW * row),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        ha="center",
        va="top",
        fontsize=6,
        color=colour,
        annotation_clip=False,
    )


def _name_rows(ax: Axes, memories: list[str]) -> None:
    """Name the rows of numbers, at the left of the first panel."""
    for row, memory in enumerate(memories):
        ax.annotate(
            f"n, {_title(memory)}",
            (0, 0),
            (-4, -14 - _ROW * row),
            xycoords="axes fraction",
            textcoords="offset points",
            ha="right",
            va="top",
            fontsize=6,
            color=_colour(memory),
        )


def _add_legends(figure: Figure, memories: list[str]) -> None:
    """Explain colours above the panels, and marks below them."""
    lines = [
        Line2D(
            [],
            [],
            color=_colour(memory),
            linestyle=_style.dash(DASHES.get(memory, ())),
            marker=_SYMBOLS.get(memory, "v"),
            markersize=3,
            label=_title(memory),
        )
        for memory in memories
    ]
    figure.legend(handles=lines, loc="outside upper center", ncols=len(lines), handlelength=3)
    grey = _style.GREY
    marks = [
        Line2D([], [], color=grey, marker=".", markersize=4, linestyle="", label="one run"),
        Patch(facecolor=(grey, 0.25), edgecolor=grey, linewidth=0.6, label="quartiles and median"),
        Line2D([], [], color=grey, label="best run"),
        Line2D([], [], color=grey, linewidth=0.8, linestyle=":", label="chance"),
    ]
    figure.legend(handles=marks, loc="outside lower center", ncols=len(marks), columnspacing=1.5)
