"""Episodes as animated pictures."""

import dataclasses
from pathlib import Path
from typing import Any

import jax
import numpy as np

from longpass.envs._environment import Environment
from longpass.envs._episode import Episode
from longpass.envs._palette import paint

MOST_STEPS = 4096
"""Episodes without a time limit are cut here."""
_CELL = 14  # pixels
_CAPTION = 34


def until_the_end(episode: Episode[Any]) -> Episode[Any]:
    """The episode without the frames that repeat its last."""
    ends = np.flatnonzero(episode.over)
    last = int(ends[0]) if len(ends) else len(episode) - 1
    fields = (getattr(episode, field.name) for field in dataclasses.fields(episode))
    return Episode(*jax.tree.map(lambda x: x[: last + 1], tuple(fields)))


def write(
    path: Path, env: Environment[Any, Any, Any], params: Any, episode: Episode[Any], fps: float
) -> None:
    """Write an episode as a GIF, with its phase, frame number and score under the board."""
    from PIL import Image, ImageDraw

    if path.suffix.lower() != ".gif":
        raise ValueError(f"out is {str(path)!r}: films are written as .gif files")
    scores = np.cumsum(episode.rewards)
    pictures = []
    for frame, board in enumerate(paint(env.name, episode.boards)):
        state = jax.tree.map(lambda x, frame=frame: x[frame], episode.states)
        cells = board.repeat(_CELL, 0).repeat(_CELL, 1)
        canvas = np.zeros((len(cells) + _CAPTION, cells.shape[1], 3), np.uint8)
        canvas[: len(cells)] = cells
        picture = Image.fromarray(canvas)
        draw = ImageDraw.Draw(picture)
        draw.text((4, len(cells) + 3), env.phase(state, params), fill="white")
        draw.text((4, len(cells) + 17), f"frame {frame}   score {scores[frame]:+.3f}", fill="white")
        pictures.append(picture.quantize(32, dither=Image.Dither.NONE))
    path.parent.mkdir(parents=True, exist_ok=True)
    # GIF counts time in hundredths of a second.
    duration = max(2, round(100 / fps)) * 10
    pictures[0].save(
        path, save_all=True, append_images=pictures[1:], duration=duration, loop=0, optimize=False
    )
