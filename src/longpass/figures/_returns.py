"""Returns of agents over episodes, from the records of populations, single runs and studies.

A population's curve is the mean of its top three members at each episode, as in the paper; we take
the three that are best in the end, over their last 3,000 episodes. A single run counts as a
population of one. A run of a study ends when it has solved its world: from there on its last return
is shown.
"""

import dataclasses
import functools
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from scipy.ndimage import gaussian_filter1d
from scipy.stats import t as student

from longpass._fields import Overrides, replace_settings, to_json
from longpass.agents import (
    STUDY,
    RunSettings,
    holds_agent,
    learning_curve,
    load_settings,
    resolve_settings,
)
from longpass.figures import TOP, Axis, _style
from longpass.records import RECORDS as RECORDS_FILE
from longpass.records import SETTINGS, Line, Records

RECORDS = Path("results/agents")
"""Where the records are that this project keeps."""
AXES: dict[Axis, tuple[str, float]] = {
    "episodes": ("episodes, thousands", 1e3),
    "steps": ("environment steps, millions", 1e6),
    "optimiser_steps": ("steps of the optimiser, thousands", 1e3),
}
"""The label of each axis, and how much one unit of it is."""
_GRID = 240  # points along a panel
_SMOOTH = 4.0  # points: the deviation of the smoothing, which is cosmetic


@dataclasses.dataclass(frozen=True)
class Returns:
    """The curves of one run: of a population, or of a single agent."""

    settings: RunSettings
    """The settings of its first member."""
    members: int
    curves: tuple[tuple[Float[np.ndarray, " records"], Float[np.ndarray, " records"]], ...]
    """(Progress so far, mean return of the last 100 episodes) of its top members."""
    solved: bool = False
    """Whether it ended because it had solved its world."""

    @functools.cached_property
    def end(self) -> float:
        """How far all of its top members are."""
        return min(progress[-1] for progress, _ in self.curves)

    def sample(self, grid: Float[np.ndarray, " grid"], smooth: bool) -> Float[np.ndarray, " grid"]:
        """The mean of its top members at these points; NaN where there are no records."""
        begin = max(progress[0] for progress, _ in self.curves)
        mean = np.mean([np.interp(grid, *one) for one in self.curves], axis=0)
        inside = (grid >= begin) & ((grid <= self.end) | self.solved)
        if smooth and inside.any():
            mean[inside] = gaussian_filter1d(mean[inside], _SMOOTH, mode="nearest")
        return np.where(inside, mean, np.nan)


def find_runs(records: Path, axis: Axis = "episodes") -> list[Returns]:
    """The runs in a folder or below it; of runs with equal settings, the longest one.

    **Arguments:**

    - `records`: the folder.
    - `axis`: what the progress of their curves counts.
    """
    records = Path(records)
    populations = {path.parent for path in records.rglob("population.json")}
    single = {
        path.parent
        for path in records.rglob(SETTINGS)
        if path.parent.parent.parent not in populations and holds_agent(path.parent)
    }
    runs = [
        _read_members(
            sorted((folder / "members").iterdir()) if folder in populations else [folder], axis
        )
        for folder in sorted(populations | single)
    ]
    runs += [
        _read_line(line, axis)
        for path in sorted(records.rglob(STUDY))
        for line in Records(path.parent / RECORDS_FILE).read()
    ]
    found: dict[str, Returns] = {}
    for one in runs:
        if one is None:
            continue
        key = f"{one.members} {_identity(one.settings)}"
        if key not in found or found[key].end < one.end:
            found[key] = one
    return list(found.values())


def _identity(run: RunSettings) -> str:
    """Everything that the results of a run depend on."""
    agent = replace_settings(run.agent, {"updates_per_call": 1, "extra_pools": 0})
    return str(dataclasses.replace(run, agent=agent).to_json())


def _read_line(line: Line, axis: Axis) -> Returns | None:
    """The agent of a line of a study; None if none of its episodes ended."""
    progress, returns = (np.array(line["curve"][name], float) for name in (axis, "return_100"))
    if not len(progress):
        return None
    run = RunSettings.from_json(line["settings"])
    return Returns(run, 1, ((progress, returns),), line["solved"])


def _read_members(members: list[Path], axis: Axis) -> Returns | None:
    """A population, or a single run; None if no episode has ended yet."""
    run = load_settings(members[0])
    # Older records do not count the steps of the optimiser.
    per_update = run.agent.learner.optimiser_steps
    lines = [
        [line for line in learning_curve(one) if line["return_100"] is not None] for one in members
    ]
    lines = sorted(filter(None, lines), key=lambda one: one[-1]["return_3000"], reverse=True)
    if not lines:
        return None
    curves = tuple(
        (
            np.array(
                [line.get(axis, per_update * line["updates"]) for line in one],
                float,
            ),
            np.array([line["return_100"] for line in one], float),
        )
        for one in lines[:TOP]
    )
    return Returns(run, len(members), curves)


def name_axis(over: Axis) -> str:
    """What the name of a file has for an axis that is not the usual one."""
    return "" if over == "episodes" else f"-{over.replace('_', '-')}"


def has_defaults(
    run: RunSettings, ignore: str | None = None, changes: Overrides | None = None
) -> bool:
    """Whether a run has the paper's parameters of its world and the defaults of its memory there.

    Seed and `block_every` may be any.

    **Arguments:**

    - `run`: the settings.
    - `ignore`: a parameter of the world that may differ.
    - `changes`: settings of the agent that must have these values instead of the defaults.
    """
    if run.is_gymnasium:
        return False
    given, paper = to_json(run.params), to_json(type(run.params)())
    if any(given[name] != value for name, value in paper.items() if name != ignore):
        return False
    agent = run.agent
    chosen = {"memory": agent.network.memory, "block_every": agent.learner.block_every}
    defaults = resolve_settings(run.env, run.params, chosen | (changes or {}), seed=run.seed)
    return _identity(run) == _identity(defaults)


def draw_runs(
    axis: Axes,
    runs: list[Returns],
    end: float,
    label: str,
    smooth: bool,
    unit: float,
    **style: Any,
) -> None:
    """Draw each run as a thin line, and their mean with its 95 % interval as far as all reach.

    The interval is Student's t over runs.

    **Arguments:**

    - `axis`: where to draw.
    - `runs`: the runs of one curve.
    - `end`: where the panel ends.
    - `label`: of the mean.
    - `smooth`: whether to smooth curves.
    - `unit`: how much one unit of the axis is.
    - `style`: of the lines.
    """
    grid = np.linspace(0.0, end, _GRID)
    curves = np.array([run.sample(grid, smooth) for run in runs])
    for one in curves if len(curves) > 1 else ():
        thin: dict[str, Any] = style | {"linewidth": 0.6, "alpha": 0.4}
        axis.plot(grid / unit, one, **thin)
    mean = curves.mean(axis=0)  # NaN where one of them has no record
    axis.plot(grid / unit, mean, label=label, **style)
    if len(curves) > 1:
        deviation = curves.std(axis=0, ddof=1) / np.sqrt(len(curves))
        half = student.ppf(0.975, len(curves) - 1) * deviation
        colour = style["color"]
        axis.fill_between(grid / unit, mean - half, mean + half, color=colour, alpha=0.15, lw=0)


def count_runs(runs: list[Returns]) -> str:
    """The number of runs of each kind, in words."""
    words = []
    for size in sorted({run.members for run in runs}):
        count = sum(run.members == size for run in runs)
        kind = "single run" if size == 1 else "population"
        of = "" if size == 1 else f" of {size}"
        words.append(f"{count} {kind}{'s' if count > 1 else ''}{of}")
    return " and ".join(words) or "no records"


def draw_max_return(axis: Axes, best: float | None, **style: Any) -> None:
    """Draw the highest possible return."""
    if best is not None:
        axis.axhline(best, **{"color": _style.GREY, "linewidth": 0.8, "linestyle": ":"} | style)


def set_limits(axis: Axes, runs: list[Returns]) -> None:
    """Set the limits of the panel to the returns of these runs and the highest possible one.

    An interval of few runs may reach beyond that.
    """
    earned = np.concatenate([returns for run in runs for _, returns in run.curves])
    best = [run.settings.max_return() for run in runs]
    low, high = float(earned.min()), max(earned.max(), *(one for one in best if one is not None))
    axis.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))
