"""The phases of the three gridworlds, drawn from perfect episodes (the paper's appendix B)."""

from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree
from matplotlib.axes import Axes

from longpass.envs import (
    CuedCatchHidden,
    HashedSpeckle,
    SequenceRecallHidden,
    TMazeHidden,
    make,
    paint_boards,
    play_episode,
)
from longpass.figures import _style

_LINE = "0.25"


def draw(out: Path) -> list[Path]:
    """Write tasks.png and tasks.svg into `out`."""
    catch = CuedCatchHidden(jnp.array([0, 1, 1, 0], jnp.int8), jnp.array([2] * 101, jnp.int8))
    maze = TMazeHidden(jnp.int8(1), HashedSpeckle(jnp.array([1, 2], jnp.uint32)))
    recall = SequenceRecallHidden(jnp.array([3, 1, 2, 4], jnp.int8))
    # World: (hidden draws, {what a frame shows: its number})
    worlds: dict[str, tuple[PyTree[Array], dict[str, int]]] = {
        "cued-catch": (
            catch,
            {"teaching: this cue, bottom ball": 15, "trial: which ball was it?": 48},
        ),
        "t-maze": (
            maze,
            {
                "chamber: the cue says right": 49,
                "limbo: nothing to see": 150,
                "maze: the right goal is near": 387,
            },
        ),
        "sequence-recall": (
            recall,
            {"demonstration: one light is on": 60, "recall: the first light found": 365},
        ),
    }
    with _style.styled():
        figure = _style.new(7.2, 8.0)
        strips: Any = figure.subfigures(len(worlds), 1, height_ratios=[32, 25, 43])
        for strip, (name, (hidden, frames)) in zip(strips, worlds.items(), strict=True):
            env, params = make(name)
            strip.suptitle(env.title, x=0.01, ha="left", fontsize=10, fontweight="bold")
            episode = play_episode(env, params, hidden, env.perfect_actions(params, hidden))
            axes = strip.subplots(1, len(frames))
            for axis, (title, frame) in zip(axes, frames.items(), strict=True):
                board = paint_boards(env, episode.boards[frame])
                _draw_board(axis, board, f"{title} (frame {frame})")
        return _style.save(figure, out, "tasks")


def _draw_board(axis: Axes, colours: np.ndarray, title: str) -> None:
    """One board as squares, thin lines between them."""
    rows, cols = colours.shape[:2]
    axis.imshow(colours, interpolation="nearest", extent=(0, cols, rows, 0))
    axis.set_xticks(range(cols + 1), labels=[])
    axis.set_yticks(range(rows + 1), labels=[])
    axis.grid(color=_LINE, linewidth=0.4)
    axis.tick_params(length=0)
    axis.set_title(title, fontsize=7)
    axis.spines[:].set_visible(True)
