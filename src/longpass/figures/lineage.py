"""The members of a population over its rounds, and which member copied which.

A cell is a member's round; its number and colour are the mean return of the round's last episodes.
An arrow leads from the weights that were copied to the member that copied them.
"""

from collections.abc import Sequence
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.patches import FancyArrowPatch, Rectangle

from longpass.agents import (
    AUDIT,
    AUDIT_NEEDS,
    POPULATION,
    ROUND_NEEDS,
    RunSettings,
    find_members,
    load_settings,
)
from longpass.figures import _style
from longpass.records import RECORDS, Line, Records

_WIDTH = 0.62  # of a cell; arrows run in the gaps


def draw(out: Path, runs: Sequence[Path]) -> list[Path]:
    """Draw lineage.png and lineage.svg of the population in a folder into `out`."""
    if len(runs) != 1:
        raise ValueError("name one population's folder: longpass figure lineage DIR")
    folder = Path(runs[0])
    if not (folder / POPULATION).exists():
        raise ValueError(f"DIR is {str(folder)!r}: it must be the folder of a population")
    members = find_members(folder)
    if not members:
        raise ValueError(f"DIR is {str(folder)!r}: it has no members yet")
    settings = [load_settings(member) for member in members]
    means = [_means(member) for member in members]
    rounds = max(map(len, means))
    if not rounds:
        raise ValueError(f"DIR is {str(folder)!r}: no round is done in it yet")
    with _style.styled():
        figure = _style.new(2.6 + 1.05 * rounds, 1.3 + 0.42 * len(members))
        axis = figure.subplots()
        decisions = Records(folder / AUDIT).read_events(None, AUDIT_NEEDS)
        copies = [line for line in decisions if line["copied"]]
        shades = _cells(axis, means, {(line["round"] + 1, line["member"]) for line in copies})
        for line in copies:
            _arrow(axis, line)
        _label(axis, settings, rounds)
        first = settings[0]
        memory, block = first.agent.network.memory, first.agent.learner.block_every
        figure.suptitle(
            f"{first.title}, {memory}, block every {block}: "
            f"{len(copies)} copies in {rounds} rounds",
            x=0.01,
            ha="left",
            fontsize=9,
        )
        bar = figure.colorbar(shades, ax=axis, pad=0.02, aspect=30)
        bar.set_label(f"mean return (highest possible: {first.max_return():.3g})")
        return _style.save(figure, out, "lineage")


def _means(member: Path) -> list[float | None]:
    """The mean return of each round's last episodes; None where the member diverged."""
    lines = Records(member / RECORDS).read_events("round", ROUND_NEEDS)
    by_round = {line["round"]: line["mean"] for line in lines}
    return [by_round[number] for number in sorted(by_round)]


def _cells(
    axis: Axes, means: list[list[float | None]], copied: set[tuple[int, int]]
) -> ScalarMappable:
    known = [mean for row in means for mean in row if mean is not None]
    norm = Normalize(min(known, default=0.0), max(known, default=1.0))
    shades = ScalarMappable(norm, matplotlib.colormaps["viridis"])
    for member, row in enumerate(means):
        for number, mean in enumerate(row):
            colour = np.array(shades.cmap(norm(mean)) if mean is not None else (0.9, 0.9, 0.9, 1.0))
            corner = (number - _WIDTH / 2, member - 0.36)
            axis.add_patch(Rectangle(corner, _WIDTH, 0.72, facecolor=colour, edgecolor="none"))
            bright = colour[:3] @ [0.3, 0.6, 0.1] > 0.5
            text = "diverged" if mean is None else f"{mean:.2f}"
            ink = "black" if bright else "white"
            axis.text(number, member, text, ha="center", va="center", fontsize=7, color=ink)
            if number and (number, member) not in copied:
                ends = (number - 1 + _WIDTH / 2, number - _WIDTH / 2)
                axis.plot(ends, (member, member), color="#BBBBBB", linewidth=0.8, zorder=0)
    return shades


def _arrow(axis: Axes, line: Line) -> None:
    begin = (line["round"] + _WIDTH / 2, line["other"])
    end = (line["round"] + 1 - _WIDTH / 2, line["member"])
    arrow = FancyArrowPatch(
        begin,
        end,
        arrowstyle="-|>",
        mutation_scale=7,
        shrinkA=0,
        shrinkB=0,
        color=_style.VERMILION,
        linewidth=1.0,
    )
    axis.add_patch(arrow)


def _label(axis: Axes, settings: list[RunSettings], rounds: int) -> None:
    axis.set_xlim(-0.5, rounds - 0.5)
    axis.set_ylim(len(settings) - 0.5, -0.5)
    axis.set_xticks(range(rounds), [str(number + 1) for number in range(rounds)])
    names = [
        f"{member}: rate {hyper.learning_rate:.2g}, entropy {hyper.entropy_cost:.2g}, "
        f"ε {hyper.epsilon:.2g}"
        for member, hyper in enumerate(run.agent.hyper for run in settings)
    ]
    axis.set_yticks(range(len(settings)), names, fontsize=6.5)
    axis.set(xlabel="round", ylabel="member")
    axis.tick_params(length=0)
    for side in axis.spines.values():
        side.set_visible(False)
