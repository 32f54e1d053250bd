"""When the LSTM starts working: the paper's last but one appendix.

LSTMs with unblocked 300-step unrolls, over the difficulty of the task: reward-free trials of Cued
Catch, time in the T-maze's limbo. Dotted, in the same colour: the highest possible return.
"""

from pathlib import Path

import matplotlib
from matplotlib.axes import Axes

from longpass.agents import ONSET, ONSET_BLOCK_EVERY
from longpass.figures import _style
from longpass.figures._returns import (
    RECORDS,
    Returns,
    count_runs,
    draw_max_return,
    draw_runs,
    find_runs,
    has_defaults,
    set_limits,
)


def draw(out: Path, records: Path | None = None, suffix: str = "") -> list[Path]:
    """Draw lstm-onset from the records in a folder, by default those that the project keeps."""
    records = records or RECORDS
    cells = _cells(find_runs(records))
    if not cells:
        raise ValueError(
            f"there are no records of LSTMs with block_every {ONSET_BLOCK_EVERY} in {records}: "
            f"make some with `longpass reproduce --only lstm-onset`, or name another folder"
        )
    tasks = [task for task in ONSET if any(key[0] == task for key in cells)]
    with _style.styled():
        figure = _style.new(0.6 + 3.6 * len(tasks), 3.4)
        for axis, task in zip(figure.subplots(1, len(tasks), squeeze=False)[0], tasks, strict=True):
            _panel(axis, task, cells)
        return _style.save(figure, out, f"lstm-onset{suffix}")


def _cells(found: list[Returns]) -> dict[tuple[str, int], list[Returns]]:
    """Runs by (world, difficulty), of those that the paper has."""
    cells: dict[tuple[str, int], list[Returns]] = {}
    for run in found:
        agent, panel = run.settings.agent, ONSET.get(run.settings.env)
        if panel is None or agent.network.memory != "lstm":
            continue
        value = getattr(run.settings.params, panel.param)
        usual = has_defaults(run.settings, ignore=panel.param)
        if agent.learner.block_every == ONSET_BLOCK_EVERY and value in panel.values and usual:
            cells.setdefault((run.settings.env, value), []).append(run)
    return cells


def _panel(axis: Axes, task: str, cells: dict[tuple[str, int], list[Returns]]) -> None:
    panel = ONSET[task]
    shown = [run for key, runs in cells.items() if key[0] == task for run in runs]
    end = max(run.end for run in shown)
    # From hard to easy: dark to light, also distinct in print.
    colours = matplotlib.colormaps["viridis"]([0.0, 0.3, 0.6, 0.85])
    for value, colour in zip(panel.values, colours, strict=True):
        runs = cells.get((task, value), [])
        label = f"{value} {panel.words}, {count_runs(runs)}"
        if runs:
            draw_runs(axis, runs, end, label, smooth=True, color=colour)
            draw_max_return(axis, runs[0].settings.max_return(), color=colour)
        else:
            axis.plot([], [], color=colour, label=label)
    axis.set(title=panel.title, xlabel="episodes, thousands", ylabel="return, 100 episodes")
    axis.set_xlim(0, end / 1000)
    set_limits(axis, shown)
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), fontsize=7)
