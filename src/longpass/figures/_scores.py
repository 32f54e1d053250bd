"""Scores of many runs by one of their settings: the paper's figure 4 and its supplement."""

from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from longpass.figures import _style
from longpass.figures._tables import proportion_interval, read_results
from longpass.streams import SOLVED, TaskName

TASKS: dict[TaskName, tuple[str, float]] = {
    "two-markers": ("Two markers", 1 / 4),
    "three-markers": ("Three markers", 1 / 8),
    "subsequences": ("Two subsequence markers", 1 / 4),
}
"""Title and accuracy by chance of each task."""
MEMORIES = {
    "chain": ("Concrete (chain)", _style.BLUE),
    "parallel": ("parallel filters", _style.GREEN),
    "lstm": ("LSTM", _style.VERMILION),
    "gru": ("GRU", _style.PURPLE),
}


def draw_by(column: str, label: str, records: Path, out: Path, name: str) -> list[Path]:
    """Draw the accuracies of all runs, above the proportion of runs that solve the task.

    **Arguments:**

    - `column`: the setting by which runs are compared.
    - `label`: of the axis of that setting.
    - `records`: the folder with the records.
    - `out`: the folder for the files.
    - `name`: of the files, without an ending.

    **Returns:** the files written.
    """
    table = read_results(records)
    shown = [task for task in TASKS if task in table["task"].unique()]
    with _style.styled():
        figure = _style.new(max(4.6, 1.4 + 2.9 * len(shown)), 5.2)
        axes = figure.subplots(2, len(shown), sharex="col", sharey="row", squeeze=False)
        for above, below, task in zip(*axes, shown, strict=True):
            runs = table.filter(pl.col("task") == task)
            _panel(above, below, runs, column)
            title, chance = TASKS[task]
            above.set_title(f"{title} (n = {len(runs)})")
            above.axhline(chance, color=_style.GREY, linewidth=0.8, linestyle=":")
            below.set_xlabel(f"{label}\nnumbers: runs of each memory")
        axes[0, 0].set_ylabel("held-out accuracy\n(dots: runs; lines: best)")
        axes[1, 0].set_ylabel(f"runs at {SOLVED:.0%} or more\n(proportion, 95 % interval)")
        axes[0, 0].set_ylim(0, 1.03)
        axes[1, 0].set_ylim(-0.02, 1.03)
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
        return _style.save(figure, out, name)


def _panel(above: Axes, below: Axes, runs: pl.DataFrame, column: str) -> None:
    values = sorted(runs[column].unique())
    places = {value: place for place, value in enumerate(values)}
    memories = [memory for memory in MEMORIES if memory in runs["memory"].unique()]
    rng = np.random.default_rng(0)  # of the jitter
    for order, memory in enumerate(memories):
        name, colour = MEMORIES[memory]
        shift = 0.22 * (order - (len(memories) - 1) / 2)
        best, solved, spots = [], [], []
        for value in values:
            cell = runs.filter((pl.col("memory") == memory) & (pl.col(column) == value))
            if cell.is_empty():
                continue
            # A run that diverged has no accuracy: it counts as 0.
            scores = cell["accuracy"].fill_null(0.0).to_numpy()
            spot = places[value] + shift
            jitter = rng.uniform(-0.07, 0.07, len(scores))
            above.plot(spot + jitter, scores, ".", color=colour, alpha=0.35, markersize=4)
            spots.append(spot)
            best.append(scores.max())
            solved.append(proportion_interval(int((scores >= SOLVED).sum()), len(scores)))
            below.annotate(
                str(len(scores)),
                (spot, 0),
                (0, -20 - 8 * order),
                textcoords="offset points",
                ha="center",
                fontsize=5.5,
                color=colour,
                annotation_clip=False,
            )
        above.plot(spots, best, "-", color=colour, label=name)
        middle, low, high = np.array(solved).T
        errors = np.clip([middle - low, high - middle], 0, None)
        below.errorbar(spots, middle, errors, color=colour, fmt="o-", markersize=3, elinewidth=0.8)
    for ax in (above, below):
        ax.set_xticks(range(len(values)), [str(value) for value in values])
    below.tick_params(axis="x", pad=1)
    below.xaxis.labelpad = 4 + 8 * len(memories)
