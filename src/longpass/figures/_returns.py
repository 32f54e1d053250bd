"""Returns of agents over episodes, from whatever records there are: populations and single runs.

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

from longpass.agents import TASK_DEFAULTS, Config, conditioning, curve
from longpass.figures import TOP, _style

RECORDS = Path("results/agents")
"""Where the records are that this project keeps."""
_GRID = 240  # points along a panel
_SMOOTH = 4.0  # points: the deviation of the smoothing, which is cosmetic
_ROLLOUT = 300


@dataclasses.dataclass(frozen=True)
class Returns:
    """The records of one run: of a population, or of a single agent."""

    config: Config
    """Of its first member."""
    members: int
    curves: tuple[tuple[Float[np.ndarray, " records"], Float[np.ndarray, " records"]], ...]
    """(Episodes so far, mean return of the last 100) of its top members."""

    @functools.cached_property
    def end(self) -> float:
        """The episodes that all of its top members have made."""
        return min(episodes[-1] for episodes, _ in self.curves)

    def at(self, grid: Float[np.ndarray, " grid"], smooth: bool) -> Float[np.ndarray, " grid"]:
        """The mean of its top members there; NaN where there is no record yet or no longer."""
        begin = max(episodes[0] for episodes, _ in self.curves)
        mean = np.mean([np.interp(grid, *one) for one in self.curves], axis=0)
        inside = (grid >= begin) & (grid <= self.end)
        if smooth and inside.any():
            mean[inside] = gaussian_filter1d(mean[inside], _SMOOTH, mode="nearest")
        return np.where(inside, mean, np.nan)


def find(records: Path) -> list[Returns]:
    """What was recorded in a folder or below it; of runs with equal settings the longest one."""
    records = Path(records)
    populations = {path.parent for path in records.rglob("population.json")}
    single = {
        path.parent
        for path in records.rglob("settings.json")
        if path.parent.parent.parent not in populations
    }
    found: dict[str, Returns] = {}
    for place in sorted(populations | single):
        members = sorted((place / "members").iterdir()) if place in populations else [place]
        one = _read(members)
        if one is None:
            continue
        key = f"{len(members)} {_identity(one.config)}"
        if key not in found or found[key].end < one.end:
            found[key] = one
    return list(found.values())


def _identity(config: Config) -> str:
    """What decides how a run goes. Runs that agree in it are one run, however they were made, and
    if they leave out what is a default."""
    about = config.about()
    about |= {name: float(value) for name, value in _parameters(config.hypers()).items()}
    if not config.gym:
        about |= _parameters(config.world()[1])
    about.pop("dispatch")
    return str(sorted(about.items()))


def _parameters(record: Any) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}


def _read(members: list[Path]) -> Returns | None:
    """None if no episode has ended yet."""
    lines = [[line for line in curve(one) if line["return_100"] is not None] for one in members]
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
    return Returns(Config.load(members[0]), len(members), curves)


def as_in_the_paper(config: Config, but: str | None = None) -> bool:
    """Whether a run is on a world with the paper's parameters (`but` for one of them), in 300-step
    rollouts, and with our usual conditioning of the network."""
    if config.gym:
        return False
    env, params = config.world()
    asked, paper = _parameters(params), _parameters(env.default_params)
    same = all(asked[name] == value for name, value in paper.items() if name != but)
    form = conditioning(config.network["family"], TASK_DEFAULTS[config.task].embedding)
    usual = all(config.network[name] == value for name, value in form.items())
    return same and usual and config.settings.rollout == _ROLLOUT


def draw_runs(
    axis: Axes, runs: list[Returns], end: float, label: str, smooth: bool, **style: Any
) -> None:
    """Each run as a thin line; their mean, with its 95 % interval (Student's t over runs), as far
    as all of them reach."""
    grid = np.linspace(0.0, end, _GRID)
    curves = np.array([run.at(grid, smooth) for run in runs])
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


def counted(runs: list[Returns]) -> str:
    """How many runs of which kind, in words."""
    words = []
    for size in sorted({run.members for run in runs}):
        count = sum(run.members == size for run in runs)
        kind = "single run" if size == 1 else "population"
        of = "" if size == 1 else f" of {size}"
        words.append(f"{count} {kind}{'s' if count > 1 else ''}{of}")
    return " and ".join(words) or "no records"


def best_line(axis: Axes, best: float | None, **style: Any) -> None:
    """The highest return there is."""
    if best is not None:
        axis.axhline(best, **{"color": _style.GREY, "linewidth": 0.8, "linestyle": ":"} | style)


def frame(axis: Axes, runs: list[Returns]) -> None:
    """Show what these runs earned and could earn. An interval of few runs may reach beyond what
    can be; the panel does not."""
    earned = np.concatenate([returns for run in runs for _, returns in run.curves])
    best = [run.config.best() for run in runs]
    low, high = float(earned.min()), max(earned.max(), *(one for one in best if one is not None))
    axis.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))
