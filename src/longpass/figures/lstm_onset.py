"""From which difficulty on each memory learns: the paper's last but one appendix.

Appendix F of the paper.

Agents with gradients over 300 steps, over the difficulty of the task: reward-free trials of Cued
Catch, time in the T-maze's limbo. In the first row each dot is the last return of an agent. Below
it are curves: LSTMs, with chrono initialisation and with a forget bias of 1; chains, with our
conditioning and in the paper's own form, whose block_every is its default. Dotted: the highest
possible return.
"""

from pathlib import Path

import matplotlib
from matplotlib.axes import Axes

from longpass.agents import (
    FORGET_BIAS,
    ONSET,
    ONSET_BLOCK_EVERY,
    ONSET_MEMORIES,
    Axis,
    Returns,
    RunSettings,
    find_returns,
    group_runs,
    has_defaults,
)
from longpass.figures import _style
from longpass.figures._returns import (
    AXES,
    RECORDS,
    SOLVED,
    count_runs,
    draw_ends,
    draw_max_return,
    draw_runs,
    name_axis,
    set_limits,
)
from longpass.figures.looks import FORGET, ONSET_SERIES, PAPER_FORM, SERIES

Cells = dict[tuple[str, str, int], list[Returns]]
"""Runs by (world, series, difficulty)."""


def draw(
    out: Path, records: Path | None = None, suffix: str = "", over: Axis = "episodes"
) -> list[Path]:
    """Draw lstm-onset from the records in a folder, by default those that the project keeps."""
    records = records or RECORDS
    cells = group_runs(find_returns(records, over), find_place)
    if not cells:
        raise ValueError(
            f"there are no records of agents with block_every {ONSET_BLOCK_EVERY} and the defaults "
            f"of their memory in {records}: make some with `longpass study onset`, or name another "
            f"folder"
        )
    tasks = [task for task in ONSET if any(key[0] == task for key in cells)]
    rows = [one for one in ONSET_SERIES if any(key[1] == one for key in cells)]
    with _style.styled():
        figure = _style.new(0.6 + 3.6 * len(tasks), 0.4 + 2.7 * (1 + len(rows)))
        axes = figure.subplots(1 + len(rows), len(tasks), squeeze=False)
        for axis, task in zip(axes[0], tasks, strict=True):
            _ends_panel(axis, task, rows, cells)
        for row, series in zip(axes[1:], rows, strict=True):
            for axis, task in zip(row, tasks, strict=True):
                _panel(axis, task, series, cells, over)
        figure.supxlabel(SOLVED, fontsize=7)
        return _style.save(figure, out, f"lstm-onset{name_axis(over)}{suffix}")


def find_place(run: RunSettings) -> tuple[str, str, int] | None:
    """(World, series, difficulty) of a run, or None if the figure does not show it.

    The series is its memory, the LSTM with a forget bias of 1, or the chain in the paper's form.
    """
    panel, memory = ONSET.get(run.env), run.agent.network.memory
    if panel is None or memory not in ONSET_MEMORIES:
        return None
    value = getattr(run.params, panel.param)
    if value not in panel.values:
        return None
    if memory == "chain" and has_defaults(run, ignore=panel.param, paper=True):
        return run.env, PAPER_FORM, value
    if run.agent.learner.block_every != ONSET_BLOCK_EVERY:
        return None
    if has_defaults(run, ignore=panel.param):
        return run.env, memory, value
    if has_defaults(run, ignore=panel.param, changes=FORGET_BIAS):
        return run.env, FORGET, value
    return None


def _ends_panel(axis: Axes, task: str, rows: list[str], cells: Cells) -> None:
    """The last returns of all agents, and their mean with its 95 % interval, by difficulty."""
    panel = ONSET[task]
    values = sorted(panel.values)
    best = {key[2]: runs[0].settings.max_return() for key, runs in cells.items() if key[0] == task}
    for place, value in enumerate(values):
        height = best.get(value)
        if height is not None:
            axis.hlines(height, place - 0.4, place + 0.4, colors=_style.GREY, linestyles=":")
    for number, name in enumerate(rows):
        series = SERIES[name]
        label, shift = series.label, 0.18 * (number - (len(rows) - 1) / 2)
        for place, value in enumerate(values):
            if runs := cells.get((task, name, value)):
                draw_ends(axis, place + shift, runs, label, color=series.colour)
                label = None
    axis.set_xticks(range(len(values)), list(map(str, values)))
    shown = [run for key, runs in cells.items() if key[0] == task for run in runs]
    set_limits(axis, shown)
    axis.set(title=f"{panel.title}, at the end", xlabel=panel.words, ylabel="last 100 episodes")
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), fontsize=7, ncols=2)


def _panel(axis: Axes, task: str, series: str, cells: Cells, over: Axis) -> None:
    panel = ONSET[task]
    words, unit = AXES[over]
    shown = [run for key, runs in cells.items() if key[:2] == (task, series) for run in runs]
    end = max((run.end for run in shown), default=unit)
    # From hard to easy: dark to light, also distinct in print.
    shades = [0.9 * place / (len(panel.values) - 1) for place in range(len(panel.values))]
    for value, colour in zip(panel.values, matplotlib.colormaps["viridis"](shades), strict=True):
        runs = cells.get((task, series, value), [])
        label = f"{value}: {count_runs(runs)}"
        if runs:
            draw_runs(axis, runs, end, label, smooth=True, unit=unit, color=colour)
            draw_max_return(axis, runs[0].settings.max_return(), color=colour)
        else:
            axis.plot([], [], color=colour, label=label)
    title = f"{panel.title}, {SERIES[series].label}"
    axis.set(title=title, xlabel=words, ylabel="return, 100 episodes")
    axis.set_xlim(0, end / unit)
    if shown:
        set_limits(axis, shown)
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.2)}
    axis.legend(title=panel.words, title_fontsize=7, fontsize=7, ncols=3, **place)
