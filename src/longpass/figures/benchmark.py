"""The truncation benchmark as heat maps: memory by truncation, one panel per task and span."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from longpass.figures import _style
from longpass.streams import BenchmarkCell, read_benchmark, score_memories

TITLES = {
    "two-markers": "Two markers",
    "three-markers": "Three markers",
    "recall": "First letter",
    "previous": "Letter a given time ago",
}


def draw(out: Path, records: Path, suffix: str = "") -> list[Path]:
    """Draw the figure into folder `out`.

    **Arguments:**

    - `out`: the folder for the files.
    - `records`: a folder of `longpass benchmark`, or one that holds such folders.
    - `suffix`: goes to the files' names.

    **Returns:** the files written. ValueError if there are no results.
    """
    cells = read_benchmark(records)
    if not cells:
        raise ValueError(
            f"records is {str(records)!r}, which has no results of `longpass benchmark`"
        )
    memories = [score.memory for score in score_memories(cells)]
    kinds = sorted({(cell.task, cell.span) for cell in cells})
    truncations = sorted({cell.truncation for cell in cells})
    width = 1.6 + len(kinds) * (0.6 + 0.34 * len(truncations))
    with _style.styled():
        figure = _style.new(width, 1.2 + 0.24 * len(memories))
        panels = figure.subplots(1, len(kinds), squeeze=False, sharey=True)[0]
        image = None
        for axes, (task, span) in zip(panels, kinds, strict=True):
            own = [cell for cell in cells if (cell.task, cell.span) == (task, span)]
            image = _draw_panel(axes, own, memories, truncations)
            axes.set_title(f"{TITLES.get(task, task)}, {span} steps")
            axes.set_xlabel("truncation (steps)")
        panels[0].set_yticks(range(len(memories)), memories)
        assert image is not None
        figure.colorbar(image, ax=list(panels), label="runs that solve the task", shrink=0.8)
        return _style.save(figure, out, f"benchmark{suffix}")


def _draw_panel(
    axes: Axes, cells: list[BenchmarkCell], memories: list[str], truncations: list[int]
):
    """One heat map: colour is the proportion of runs that solve the task, numbers the best run."""
    colours = np.full((len(memories), len(truncations)), np.nan)
    for cell in cells:
        row, column = memories.index(cell.memory), truncations.index(cell.truncation)
        share = cell.solved[0]
        colours[row, column] = share
        axes.text(
            column,
            row,
            f"{100 * cell.best:.0f}",
            ha="center",
            va="center",
            fontsize=6,
            color="white" if share < 0.6 else "black",
        )
    axes.set_xticks(range(len(truncations)), [str(one) for one in truncations])
    axes.tick_params(length=0)
    return axes.imshow(colours, vmin=0.0, vmax=1.0, cmap="viridis", aspect="auto")
