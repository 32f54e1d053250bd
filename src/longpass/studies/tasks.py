"""The phases of the three gridworlds, drawn from perfect episodes (the paper's appendix B)."""

from pathlib import Path
from typing import Any

import jax.numpy as jnp
import matplotlib
import numpy as np
from matplotlib.figure import Figure

from longpass.envs import (
    CuedCatch,
    CuedCatchHidden,
    CuedCatchParams,
    Environment,
    HashedSpeckle,
    SequenceRecall,
    SequenceRecallHidden,
    SequenceRecallParams,
    TMaze,
    TMazeHidden,
    TMazeParams,
    paint,
    perfect_actions,
    play,
)

_LINE = "0.25"


def draw(out: Path) -> list[Path]:
    """Write tasks.png and tasks.svg into `out`."""
    catch_hidden = CuedCatchHidden(
        jnp.array([0, 1, 1, 0], jnp.int8), jnp.array([2] * 101, jnp.int8)
    )
    maze_hidden = TMazeHidden(jnp.int8(1), HashedSpeckle(jnp.array([1, 2], jnp.uint32)))
    recall_hidden = SequenceRecallHidden(jnp.array([3, 1, 2, 4], jnp.int8))
    # (environment, parameters, hidden draws, {what a frame shows: its number})
    tasks: list[tuple[Environment[Any, Any, Any], Any, Any, dict[str, int]]] = [
        (
            CuedCatch(),
            CuedCatchParams(),
            catch_hidden,
            {"teaching: this cue, bottom ball": 15, "trial: which ball was it?": 48},
        ),
        (
            TMaze(),
            TMazeParams(),
            maze_hidden,
            {
                "chamber: the cue says right": 49,
                "limbo: nothing to see": 150,
                "maze: the right goal is near": 387,
            },
        ),
        (
            SequenceRecall(),
            SequenceRecallParams(),
            recall_hidden,
            {"demonstration: one light is on": 60, "recall: the first light found": 365},
        ),
    ]
    figure = Figure(figsize=(9.0, 10.0), layout="constrained")
    strips: Any = figure.subfigures(len(tasks), 1, height_ratios=[32, 25, 43])
    for strip, (env, params, hidden, frames) in zip(strips, tasks, strict=True):
        strip.suptitle(env.title, x=0.01, ha="left", fontsize=11, fontweight="bold")
        episode = play(env, params, hidden, perfect_actions(env, params, hidden))
        for axes, (title, frame) in zip(
            strip.subplots(1, len(frames)), frames.items(), strict=True
        ):
            _board(axes, paint(env.name, episode.boards[frame]), f"{title} (frame {frame})")

    out.mkdir(parents=True, exist_ok=True)
    files = [out / "tasks.png", out / "tasks.svg"]
    # Fixed ids and no date: the same figure is the same file.
    with matplotlib.rc_context({"svg.hashsalt": "longpass"}):
        for path in files:
            figure.savefig(path, dpi=300, metadata={"Date": None} if path.suffix == ".svg" else {})
    return files


def _board(axes: Any, colours: np.ndarray, title: str) -> None:
    """One board as squares, thin lines between them."""
    rows, cols = colours.shape[:2]
    axes.imshow(colours, interpolation="nearest", extent=(0, cols, rows, 0))
    axes.set_xticks(range(cols + 1), labels=[])
    axes.set_yticks(range(rows + 1), labels=[])
    axes.grid(color=_LINE, linewidth=0.4)
    axes.tick_params(length=0)
    axes.set_title(title, fontsize=8)
