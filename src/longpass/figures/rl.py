"""Returns on the three worlds, chain against LSTM: the paper's figures 5 and 6.

Rows are worlds, columns are `block_every`. The dotted line is the highest possible return. With a
frozen writer, which is our chain's default, gradients through its state change nothing, so the
panels of a row differ by chance only; a chain whose writer learns is drawn beside it. `rl-raw` is
the same without smoothing.
"""

from pathlib import Path

from matplotlib.axes import Axes

from longpass.agents import (
    LEARNED_WRITER,
    RETURNS,
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
    draw_max_return,
    draw_runs,
    name_axis,
    set_limits,
)
from longpass.figures.looks import LEARNED, SERIES

_FROZEN = (
    "The chain's writer is frozen: gradients through its state reach no weight that is trained, so "
    "block_every changes only how many slices a rollout has."
)


def draw(
    out: Path,
    records: Path | None = None,
    suffix: str = "",
    raw: bool = False,
    over: Axis = "episodes",
) -> list[Path]:
    """Draw rl (or rl-raw) from the records in a folder, by default those that the project keeps."""
    records = records or RECORDS
    cells = group_runs(find_returns(records, over), find_place)
    if not cells:
        raise ValueError(
            f"there are no records of agents with the defaults of their memory in {records}: make "
            f"some with `longpass study returns`, `pbt` or `reproduce`, or name another folder"
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
                    end = max(run.end for run in shown)
                    _panel(axis, task, block, cells, end, not raw, over)
                else:
                    axis.set_axis_off()
            set_limits(row[0], shown)
            first = next(axis for axis in row if axis.axison)
            first.set_ylabel(f"{RETURNS[task].title}\nreturn, 100 episodes")
            first.tick_params(labelleft=True)
        for axis in axes[-1]:
            axis.set_xlabel(AXES[over][0])
        drawn = {
            label: handle
            for axis in axes.ravel()
            for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
        }
        handles = {one.label: drawn[one.label] for one in SERIES.values() if one.label in drawn}
        figure.legend(handles.values(), handles, loc="outside upper center", ncols=len(handles))
        notes = [_FROZEN] if any(key[2] == "chain" for key in cells) else []
        figure.supxlabel("\n".join([*notes, SOLVED]), fontsize=7)
        return _style.save(figure, out, f"rl{'-raw' if raw else ''}{name_axis(over)}{suffix}")


def find_place(run: RunSettings) -> tuple[str, int, str] | None:
    """(World, block_every, series) of a run, or None if the figure does not show it.

    The series is its memory, or the chain with a learned writer.
    """
    block, memory = run.agent.learner.block_every, run.agent.network.memory
    row = RETURNS.get(run.env)
    if row is None or block not in row.block_every or memory not in row.memories:
        return None
    if has_defaults(run):
        return run.env, block, memory
    return (run.env, block, LEARNED) if has_defaults(run, changes=LEARNED_WRITER) else None


def _panel(
    axis: Axes,
    task: str,
    block: int,
    cells: dict[tuple[str, int, str], list[Returns]],
    end: float,
    smooth: bool,
    over: Axis,
) -> None:
    unit = AXES[over][1]
    names = [*RETURNS[task].memories]
    if any(key[0] == task and key[2] == LEARNED for key in cells):
        names.append(LEARNED)
    axis.set_title(f"blocked every {block} steps", pad=3 + 8 * len(names))
    axis.set_xlim(0, end / unit)
    for line, name in enumerate(reversed(names)):
        series = SERIES[name]
        runs = cells.get((task, block, name), [])
        axis.annotate(
            f"{name}: {count_runs(runs)}",
            (0, 1),
            (0, 3 + 8 * line),
            xycoords="axes fraction",
            textcoords="offset points",
            fontsize=6,
            color=series.colour,
        )
        if runs:
            style = {"color": series.colour, "linestyle": _style.dash(series.dashes)}
            draw_runs(axis, runs, end, series.label, smooth, unit, **style)
            draw_max_return(axis, runs[0].settings.max_return())
