"""When the LSTM starts working: the paper's last but one appendix.

LSTMs with unblocked 300-step unrolls, over the difficulty of the task: reward-free trials of Cued
Catch, time in the T-maze's limbo. Dotted, in the same colour: the highest return there is.
"""

from pathlib import Path

import matplotlib
from matplotlib.axes import Axes

from longpass.figures import _style
from longpass.figures._returns import (
    RECORDS,
    Returns,
    as_in_the_paper,
    best_line,
    counted,
    draw_runs,
    find,
    frame,
)

PANELS = {
    "cued_catch": ("Cued Catch", "reward_free_trials", "reward-free trials", (40, 20, 10, 5)),
    "t_maze": ("T-maze", "limbo_time", "steps in limbo", (280, 210, 140, 70)),
}
BLOCK = 300


def draw(out: Path, records: Path | None = None, suffix: str = "") -> list[Path]:
    """Draw lstm-onset from the records in a folder, by default those that the project keeps."""
    records = records or RECORDS
    cells = _cells(find(records))
    if not cells:
        raise ValueError(
            f"there are no records of LSTMs with gradients over {BLOCK} steps in {records}: make "
            f"some with `longpass reproduce --only lstm-onset`, or name another folder"
        )
    tasks = [task for task in PANELS if any(key[0] == task for key in cells)]
    with _style.styled():
        figure = _style.new(0.6 + 3.6 * len(tasks), 3.4)
        for axis, task in zip(figure.subplots(1, len(tasks), squeeze=False)[0], tasks, strict=True):
            _panel(axis, task, cells)
        return _style.save(figure, out, f"lstm-onset{suffix}")


def _cells(found: list[Returns]) -> dict[tuple[str, int], list[Returns]]:
    """Runs by (task, difficulty), of those that the paper has."""
    cells: dict[tuple[str, int], list[Returns]] = {}
    for run in found:
        config = run.config
        if config.network["family"] != "lstm" or config.settings.block_every != BLOCK:
            continue
        if config.task not in PANELS:
            continue
        _, name, _, values = PANELS[config.task]
        value = config.params.get(name, values[0])
        if value in values and as_in_the_paper(config, but=name):
            cells.setdefault((config.task, value), []).append(run)
    return cells


def _panel(axis: Axes, task: str, cells: dict[tuple[str, int], list[Returns]]) -> None:
    title, _, words, values = PANELS[task]
    shown = [run for key, runs in cells.items() if key[0] == task for run in runs]
    end = max(run.end for run in shown)
    # From hard to easy: dark to light, and all told apart in print.
    colours = matplotlib.colormaps["viridis"]([0.0, 0.3, 0.6, 0.85])
    for value, colour in zip(values, colours, strict=True):
        runs = cells.get((task, value), [])
        label = f"{value} {words}, {counted(runs)}"
        if runs:
            draw_runs(axis, runs, end, label, smooth=True, color=colour)
            best_line(axis, runs[0].config.best(), color=colour)
        else:
            axis.plot([], [], color=colour, label=label)
    axis.set(title=title, xlabel="episodes, thousands", ylabel="return, 100 episodes")
    axis.set_xlim(0, end / 1000)
    frame(axis, shown)
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), fontsize=7)
