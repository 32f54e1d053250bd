"""Learning curves: return over environment steps, one line per run, one colour per kind of run."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

from matplotlib.axes import Axes

from longpass.agents import RunSettings, learning_curve, load_settings
from longpass.figures import _style


@dataclasses.dataclass(frozen=True)
class Curve:
    """One run, as it is drawn."""

    task: str
    best: float | None
    """The highest possible return."""
    label: str
    steps: list[int]
    returns: list[float]
    """Mean of the last 100 episodes."""


def label_memory(run: RunSettings) -> str:
    """Names runs by their memory and by how far gradients reach."""
    return f"{run.agent.network.memory}, block every {run.agent.learner.block_every}"


def read_curve(folder: Path, label: Callable[[RunSettings], str]) -> Curve:
    """The curve of the run in a folder."""
    run = load_settings(folder)
    lines = [line for line in learning_curve(folder) if line["return_100"] is not None]
    if not lines:
        raise ValueError(f"RUN is {str(folder)!r}: no episode has ended in it yet")
    return Curve(
        task=run.title,
        best=run.max_return(),
        label=label(run),
        steps=[line["steps"] for line in lines],
        returns=[line["return_100"] for line in lines],
    )


def draw(out: Path, runs: Sequence[Path]) -> list[Path]:
    """Draw learning.png and learning.svg of these runs into `out`."""
    if not runs:
        raise ValueError("no runs named: longpass figure learning RUN...")
    return draw_curves(out, "learning", [read_curve(run, label_memory) for run in runs])


def draw_curves(out: Path, name: str, curves: list[Curve]) -> list[Path]:
    """Draw one panel per task; runs of one kind share a colour and one line in the legend."""
    tasks = list(dict.fromkeys(one.task for one in curves))
    with _style.styled():
        figure = _style.new(7.0, 2.9 * len(tasks))
        axes = figure.subplots(len(tasks), 1, squeeze=False)[:, 0]
        for axis, task in zip(axes, tasks, strict=True):
            _panel(axis, task, [one for one in curves if one.task == task])
        return _style.save(figure, out, name)


def _panel(axis: Axes, task: str, curves: list[Curve]) -> None:
    labels = sorted({one.label for one in curves})
    styles = {label: _style.CYCLE[n % len(_style.CYCLE)] for n, label in enumerate(labels)}
    named: set[str] = set()
    for one in curves:
        label = None if one.label in named else one.label
        named.add(one.label)
        millions = [steps / 1e6 for steps in one.steps]
        axis.plot(millions, one.returns, label=label, alpha=0.85, **styles[one.label])
    if curves[0].best is not None:
        axis.axhline(curves[0].best, color=_style.GREY, linewidth=0.8, linestyle=(0, (4, 3)))
    axis.set(
        title=task,
        xlabel="environment steps, millions",
        ylabel="return, mean of 100 episodes",
    )
    axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
