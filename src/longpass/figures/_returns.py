"""Drawing the returns of agents: curves, their mean and its interval."""

from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from scipy.ndimage import gaussian_filter1d
from scipy.special import stdtrit

from longpass.agents import Axis, Returns
from longpass.figures import _style

RECORDS = Path("results/agents")
"""Where the records are that this project keeps."""
AXES: dict[Axis, tuple[str, float]] = {
    "episodes": ("episodes, thousands", 1e3),
    "steps": ("environment steps, millions", 1e6),
    "optimiser_steps": ("steps of the optimiser, thousands", 1e3),
}
"""The label of each axis, and how much one unit of it is."""
SOLVED = (
    "A dot marks where an agent ended because it had solved its world. From there on its last "
    "return is drawn."
)
"""What the figures say of agents that ended early."""
_GRID = 240  # points along a panel
_SMOOTH = 4.0  # points: the deviation of the smoothing, which is cosmetic


def sample_curve(
    run: Returns, grid: Float[np.ndarray, " grid"], smooth: bool
) -> Float[np.ndarray, " grid"]:
    """The curve of a run at these points; NaN where there are no records."""
    curve = run.sample(grid)
    inside = ~np.isnan(curve)
    if smooth and inside.any():
        curve[inside] = gaussian_filter1d(curve[inside], _SMOOTH, mode="nearest")
    return curve


def name_axis(over: Axis) -> str:
    """What the name of a file has for an axis that is not the usual one."""
    return "" if over == "episodes" else f"-{over.replace('_', '-')}"


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

    A dot marks where a run ended because it had solved its world. From there on its last return
    stands, in its line and in the mean. The interval is Student's t over runs.

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
    curves = np.array([sample_curve(run, grid, smooth) for run in runs])
    for one in curves if len(curves) > 1 else ():
        thin: dict[str, Any] = style | {"linewidth": 0.6, "alpha": 0.4}
        axis.plot(grid / unit, one, **thin)
    for run, one in zip(runs, curves, strict=True):
        if run.solved and run.end < end:
            height = np.interp(run.end, grid, one)
            axis.plot(run.end / unit, height, ".", color=style["color"], markersize=3.5)
    mean = curves.mean(axis=0)  # NaN where one of them has no record
    axis.plot(grid / unit, mean, label=label, **style)
    if len(curves) > 1:
        half = _half_width(curves)
        colour = style["color"]
        axis.fill_between(grid / unit, mean - half, mean + half, color=colour, alpha=0.15, lw=0)


def draw_ends(
    axis: Axes, place: float, runs: list[Returns], label: str | None, **style: Any
) -> None:
    """Draw the last return of each run as a dot, and their mean with Student's 95 % interval.

    A run that diverged has none.

    **Arguments:**

    - `axis`: where to draw.
    - `place`: where along the axis.
    - `runs`: the runs of one kind.
    - `label`: of the mean.
    - `style`: of dots and mean.
    """
    ends = np.array([run.score for run in runs if np.isfinite(run.score)])
    if not len(ends):
        return
    axis.plot(np.full(len(ends), place), ends, ".", markersize=4, alpha=0.5, **style)
    half = _half_width(ends[:, None]) if len(ends) > 1 else None
    style = style | {"markersize": 7, "capsize": 2}
    axis.errorbar(place, ends.mean(), half, fmt="_", label=label, **style)


def _half_width(runs: Float[np.ndarray, "runs grid"]) -> Float[np.ndarray, " grid"]:
    """Half the width of Student's 95 % interval of the mean over runs, of which there are two or
    more."""
    count = len(runs)
    return stdtrit(count - 1, 0.975) * runs.std(axis=0, ddof=1) / np.sqrt(count)


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
    low = float(np.nanmin(earned))
    high = max(np.nanmax(earned), *(one for one in best if one is not None))
    axis.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))
