"""Returns of agents over episodes, from the records of populations and single runs.

A population's curve is the mean of its top three members at each episode, as in the paper; we take
the three that are best in the end, over their last 3,000 episodes. A single run counts as a
population of one.
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

from longpass._fields import replace_settings, to_json
from longpass.agents import (
    RunSettings,
    holds_agent,
    learning_curve,
    load_settings,
    resolve_settings,
)
from longpass.figures import TOP, _style
from longpass.records import SETTINGS

RECORDS = Path("results/agents")
"""Where the records are that this project keeps."""
_GRID = 240  # points along a panel
_SMOOTH = 4.0  # points: the deviation of the smoothing, which is cosmetic


@dataclasses.dataclass(frozen=True)
class Returns:
    """The curves of one run: of a population, or of a single agent."""

    settings: RunSettings
    """The settings of its first member."""
    members: int
    curves: tuple[tuple[Float[np.ndarray, " records"], Float[np.ndarray, " records"]], ...]
    """(Episodes so far, mean return of the last 100) of its top members."""

    @functools.cached_property
    def end(self) -> float:
        """Episodes that all of its top members have played."""
        return min(episodes[-1] for episodes, _ in self.curves)

    def sample(self, grid: Float[np.ndarray, " grid"], smooth: bool) -> Float[np.ndarray, " grid"]:
        """The mean of its top members at these episodes; NaN where there are no records."""
        begin = max(episodes[0] for episodes, _ in self.curves)
        mean = np.mean([np.interp(grid, *one) for one in self.curves], axis=0)
        inside = (grid >= begin) & (grid <= self.end)
        if smooth and inside.any():
            mean[inside] = gaussian_filter1d(mean[inside], _SMOOTH, mode="nearest")
        return np.where(inside, mean, np.nan)


def find_runs(records: Path) -> list[Returns]:
    """The runs in a folder or below it; of runs with equal settings, the longest one."""
    records = Path(records)
    populations = {path.parent for path in records.rglob("population.json")}
    single = {
        path.parent
        for path in records.rglob(SETTINGS)
        if path.parent.parent.parent not in populations and holds_agent(path.parent)
    }
    found: dict[str, Returns] = {}
    for folder in sorted(populations | single):
        members = sorted((folder / "members").iterdir()) if folder in populations else [folder]
        one = _read(members)
        if one is None:
            continue
        key = f"{len(members)} {_identity(one.settings)}"
        if key not in found or found[key].end < one.end:
            found[key] = one
    return list(found.values())


def _identity(run: RunSettings) -> str:
    """Everything that the results of a run depend on."""
    agent = replace_settings(run.agent, {"updates_per_call": 1, "extra_pools": 0})
    return str(dataclasses.replace(run, agent=agent).to_json())


def _read(members: list[Path]) -> Returns | None:
    """None if no episode has ended yet."""
    lines = [
        [line for line in learning_curve(one) if line["return_100"] is not None] for one in members
    ]
    lines = sorted(filter(None, lines), key=lambda one: one[-1]["return_3000"], reverse=True)
    if not lines:
        return None
    curves = tuple(
        (
            np.array([line["episodes"] for line in one], float),
            np.array([line["return_100"] for line in one], float),
        )
        for one in lines[:TOP]
    )
    return Returns(load_settings(members[0]), len(members), curves)


def has_defaults(run: RunSettings, ignore: str | None = None) -> bool:
    """Whether a run has the paper's parameters of its world and the defaults of its memory there.

    Seed and `block_every` may be any.

    **Arguments:**

    - `run`: the settings.
    - `ignore`: a parameter of the world that may differ.
    """
    if run.is_gymnasium:
        return False
    given, paper = to_json(run.params), to_json(type(run.params)())
    if any(given[name] != value for name, value in paper.items() if name != ignore):
        return False
    agent = run.agent
    chosen = {"memory": agent.network.memory, "block_every": agent.learner.block_every}
    defaults = resolve_settings(run.env, run.params, chosen, seed=run.seed)
    return _identity(run) == _identity(defaults)


def draw_runs(
    axis: Axes, runs: list[Returns], end: float, label: str, smooth: bool, **style: Any
) -> None:
    """Draw each run as a thin line, and their mean with its 95 % interval as far as all reach.

    The interval is Student's t over runs.
    """
    grid = np.linspace(0.0, end, _GRID)
    curves = np.array([run.sample(grid, smooth) for run in runs])
    for one in curves if len(curves) > 1 else ():
        thin: dict[str, Any] = style | {"linewidth": 0.6, "alpha": 0.4}
        axis.plot(grid / 1000, one, **thin)
    mean = curves.mean(axis=0)  # NaN where one of them has no record
    axis.plot(grid / 1000, mean, label=label, **style)
    if len(curves) > 1:
        deviation = curves.std(axis=0, ddof=1) / np.sqrt(len(curves))
        half = student.ppf(0.975, len(curves) - 1) * deviation
        colour = style["color"]
        axis.fill_between(grid / 1000, mean - half, mean + half, color=colour, alpha=0.15, lw=0)


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
