"""Episodes as animated pictures."""

import dataclasses
from pathlib import Path
from typing import IO

import jax
import jax.numpy as jnp
import numpy as np

from longpass._extras import explain_missing
from longpass._whole_files import write_atomically
from longpass.envs._environment import AnyEnvironment, Params
from longpass.envs._episode import AnyEpisode, Episode
from longpass.envs._palette import paint_boards

MOST_STEPS = 4096
"""Episodes without a time limit are cut here."""
_CELL = 14  # pixels
_CAPTION = 34
_TILE = 4  # pixels per unit of memory


def cut_after_end(episode: AnyEpisode) -> AnyEpisode:
    """Leave out the frames after the end of an episode, which repeat its last one."""
    ends = np.flatnonzero(episode.over)
    last = int(ends[0]) if len(ends) else len(episode) - 1
    fields = (getattr(episode, field.name) for field in dataclasses.fields(episode))
    return Episode(*jax.tree.map(lambda x: x[: last + 1], tuple(fields)))


def write_film(
    path: Path,
    env: AnyEnvironment,
    params: Params,
    episode: AnyEpisode,
    fps: float,
    beside: list[np.ndarray] | None = None,
) -> None:
    """Write an episode as a GIF, with its phase, frame number and score under the board.

    **Arguments:**

    - `path`: the file, which ends in .gif.
    - `env`: the environment.
    - `params`: its parameters.
    - `episode`: what to show.
    - `fps`: frames per second.
    - `beside`: arrays of shape (frames or more, size), each drawn as a tile beside the board.
    """
    try:
        from PIL import Image, ImageDraw
    except ModuleNotFoundError as error:
        raise explain_missing(error, "a film") from error
    if path.suffix.lower() != ".gif":
        raise ValueError(f"out is {str(path)!r}: films are written as .gif files")
    scores = np.cumsum(episode.rewards)
    pictures = []
    for frame, board in enumerate(paint_boards(env, episode.boards)):
        state = jax.tree.map(lambda x, frame=frame: jnp.asarray(x[frame]), episode.states)
        cells = board.repeat(_CELL, 0).repeat(_CELL, 1)
        cells = np.concatenate([cells, _tiles(beside, frame, len(cells))], axis=1)
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
    times = {"duration": duration, "loop": 0}

    def save(file: IO[bytes]) -> None:
        more = {"save_all": True, "append_images": pictures[1:], "optimize": False}
        pictures[0].save(file, "GIF", **more, **times)

    write_atomically(path, save)


def _tiles(parts: list[np.ndarray] | None, frame: int, height: int) -> np.ndarray:
    """The values of each part at a frame, [height, width, 3]: blue below their mean, red above."""
    if not parts:
        return np.zeros((height, 0, 3), np.uint8)
    side = int(np.ceil(np.sqrt(max(part.shape[1] for part in parts))))
    pitch = (side + 1) * _TILE
    in_column = max(1, height // pitch)
    columns = -(-len(parts) // in_column)
    picture = np.zeros((max(height, pitch), columns * pitch + _TILE, 3), np.uint8)
    for place, part in enumerate(parts):
        row, column = place % in_column * pitch, place // in_column * pitch + _TILE
        tile = _heat(part[frame], side).repeat(_TILE, 0).repeat(_TILE, 1)
        picture[row : row + side * _TILE, column : column + side * _TILE] = tile
    return picture[:height]


def _heat(values: np.ndarray, side: int) -> np.ndarray:
    """Values as a square of colours, on a scale of their own."""
    shown = np.zeros(side * side)
    shown[: values.size] = np.clip((values - values.mean()) / (3 * values.std() + 1e-9), -1, 1)
    up, down = np.maximum(shown, 0), np.maximum(-shown, 0)
    colours = np.stack([up, 0.35 * (up + down), down], axis=-1)
    return (255 * colours).astype(np.uint8).reshape(side, side, 3)
