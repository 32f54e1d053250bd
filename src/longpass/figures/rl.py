"""Returns on the three worlds, chain against LSTM: the paper's figures 5 and 6.

Rows are worlds, columns are `block_every`. The dotted line is the highest possible return. `rl-raw`
is the same without smoothing.
"""

from pathlib import Path

from matplotlib.axes import Axes

from longpass.agents import RETURNS
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
from longpass.figures._scores import DASHES, MEMORIES


def draw(out: Path, records: Path | None = None, suffix: str = "", raw: bool = False) -> list[Path]:
    """Draw rl (or rl-raw) from the records in a folder, by default those that the project keeps."""
    records = records or RECORDS
    cells = _cells(find_runs(records))
    if not cells:
        raise ValueError(
            f"there are no records of agents in {records} with the paper's settings: make some "
            f"with `longpass train`, `longpass pbt` or `longpass reproduce`, or name another folder"
        )
    tasks = [task for task in RETURNS if any(key[0] == task for key in cells)]
    blocks = sorted({key[1] for key in cells})
    with _style.styled():
        figure = _style.new(max(4.2, 0.9 + 2.35 * len(blocks)), 0.6 + 2.2 * len(tasks))
        axes = figure.subplots(len(tasks), len(blocks), sharey="row", squeeze=False)
        for row, task in zip(axes, tasks, strict=True):
            shown = [run for key, runs in cells.items() if key[0] == task for run in runs]
            for axis, block in zip(row, blocks, strict=True):
                if block in RETURNS[task].block_every:
                    _panel(axis, task, block, cells, max(run.end for run in shown), not raw)
                else:
                    axis.set_axis_off()
            set_limits(row[0], shown)
            first = next(axis for axis in row if axis.axison)
            first.set_ylabel(f"{RETURNS[task].title}\nreturn, 100 episodes")
            first.tick_params(labelleft=True)
        for axis in axes[-1]:
            axis.set_xlabel("episodes, thousands")
        drawn = {
            label: handle
            for axis in axes.ravel()
            for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
        }
        handles = {name: drawn[name] for name, _ in MEMORIES.values() if name in drawn}
        figure.legend(handles.values(), handles, loc="outside upper center", ncols=len(handles))
        return _style.save(figure, out, f"rl{'-raw' if raw else ''}{suffix}")


def _cells(found: list[Returns]) -> dict[tuple[str, int, str], list[Returns]]:
    """Runs by (world, block_every, memory), of those that the paper has."""
    cells: dict[tuple[str, int, str], list[Returns]] = {}
    for run in found:
        agent = run.settings.agent
        task, block, memory = run.settings.env, agent.learner.block_every, agent.network.memory
        row = RETURNS.get(task)
        if row is None or block not in row.block_every or memory not in row.memories:
            continue
        if has_defaults(run.settings):
            cells.setdefault((task, block, memory), []).append(run)
    return cells


def _panel(
    axis: Axes,
    task: str,
    block: int,
    cells: dict[tuple[str, int, str], list[Returns]],
    end: float,
    smooth: bool,
) -> None:
    memories = RETURNS[task].memories
    axis.set_title(f"blocked every {block} steps", pad=3 + 8 * len(memories))
    axis.set_xlim(0, end / 1000)
    for line, memory in enumerate(reversed(memories)):
        name, colour = MEMORIES[memory]
        runs = cells.get((task, block, memory), [])
        axis.annotate(
            f"{memory}: {count_runs(runs)}",
            (0, 1),
            (0, 3 + 8 * line),
            xycoords="axes fraction",
            textcoords="offset points",
            fontsize=6,
            color=colour,
        )
        if runs:
            draw_runs(axis, runs, end, name, smooth, color=colour, linestyle=DASHES[memory])
            draw_max_return(axis, runs[0].settings.max_return())
