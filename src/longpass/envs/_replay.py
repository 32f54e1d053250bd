"""Recorded episodes of the original games, played again here and compared frame by frame."""

import dataclasses
import json
import zipfile
import zlib
from pathlib import Path
from typing import Any, Literal

import jax.numpy as jnp
import numpy as np

from longpass.envs import _t_maze_world as world
from longpass.envs._cued_catch import CuedCatch, CuedCatchHidden, CuedCatchParams
from longpass.envs._environment import Action, Environment
from longpass.envs._episode import Episode, play
from longpass.envs._sequence_recall import (
    SequenceRecall,
    SequenceRecallHidden,
    SequenceRecallParams,
)
from longpass.envs._speckle import GivenSpeckle
from longpass.envs._t_maze import TMaze, TMazeHidden, TMazeParams

REWARD_TOLERANCE = 1e-6
_FIVE = {1: Action.UP, 2: Action.DOWN, 3: Action.LEFT, 4: Action.RIGHT, 5: Action.STAY}


@dataclasses.dataclass(frozen=True)
class _Game:
    """How files of one game are read."""

    env: Environment[Any, Any, Any]
    params: type
    actions: dict[int, Action]
    """Our action for each id of the original."""
    quits: tuple[int, ...]
    """Ids by which a person leaves; an agent has no such action."""
    hidden: tuple[str, ...]


_GAMES = {
    "cued_catch": _Game(
        CuedCatch(),
        CuedCatchParams,
        {1: Action.UP, 2: Action.DOWN, 3: Action.STAY},
        (0, 4),
        ("cues_to_balls", "cue_sequence"),
    ),
    "t_maze": _Game(
        TMaze(), TMazeParams, _FIVE, (0, 6), ("which_goal", "speckle_packed", "speckle_shape")
    ),
    "sequence_recall": _Game(SequenceRecall(), SequenceRecallParams, _FIVE, (0, 6), ("sequence",)),
}
_FRAMES = ("boards", "rewards", "discounts", "game_over")


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What came of one file."""

    path: str
    status: Literal["equal", "different", "skipped", "unreadable"]
    game: str = ""
    label: str = ""
    steps: int = 0
    detail: str = ""
    """Why it was skipped or could not be read, or where the first difference is."""

    @property
    def ok(self) -> bool:
        return self.status in ("equal", "skipped")


def find(paths: list[Path]) -> list[Path]:
    """The files that these paths name: files as they are, folders for the .npz files in them."""
    found = []
    for path in paths:
        inside = sorted(path.glob("*.npz")) if path.is_dir() else [path]
        if not inside:
            raise ValueError(f"{path} has no .npz files: give a folder of recorded episodes")
        found += inside
    return found


def replay(path: Path) -> Outcome:
    """Play one recorded episode on our environment and compare every frame."""
    try:
        record = _load(path)
        game = _game_of(record)
        about = {
            "path": str(path),
            "game": game.env.name,
            "label": str(record["label"]) if "label" in record else "",
            "steps": len(record["actions"]),
        }
        settings = _settings(record)
        reason = _why_skipped(record, settings, game)
        if reason:
            return Outcome(**about, status="skipped", detail=reason)
        params = _params_of(settings, game)
        hidden = _hidden_of(record, game)
        actions = [game.actions[int(action)] for action in record["actions"]]
        episode = play(game.env, params, hidden, actions)
    except (ValueError, TypeError, OSError) as error:
        return Outcome(path=str(path), status="unreadable", detail=str(error))
    difference = _first_difference(record, episode)
    return Outcome(**about, status="different" if difference else "equal", detail=difference)


def _load(path: Path) -> dict[str, np.ndarray]:
    if not path.exists():
        raise ValueError("there is no such file")
    try:
        # Opened here, not by NumPy, which leaves damaged files open.
        with path.open("rb") as file:
            archive = np.load(file, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise ValueError("it holds a single array")
            return {key: archive[key] for key in archive.files}
    except (ValueError, EOFError, OSError, zipfile.BadZipFile, zlib.error) as error:
        # NumPy's own words would advise to unpickle it.
        raise ValueError("damaged, or not an .npz file of plain arrays") from error


def _game_of(record: dict[str, np.ndarray]) -> _Game:
    _need(record, ("game",))
    name = str(record["game"])
    if name not in _GAMES:
        raise ValueError(f"game is {name!r}: it must be one of {', '.join(_GAMES)}")
    game = _GAMES[name]
    _need(record, ("params", "actions", *_FRAMES, *game.hidden))
    if record["actions"].ndim != 1 or not np.issubdtype(record["actions"].dtype, np.integer):
        raise ValueError(
            f"actions has shape {record['actions'].shape} and dtype "
            f"{record['actions'].dtype}: it must be one whole number a step"
        )
    frames = len(record["actions"]) + 1
    for key in _FRAMES:
        cells = (game.env.rows, game.env.cols) if key == "boards" else ()
        if record[key].shape != (frames, *cells):
            raise ValueError(
                f"{key} has shape {record[key].shape}: it must be {(frames, *cells)}, a frame for "
                "the start and one for each action"
            )
    return game


def _settings(record: dict[str, np.ndarray]) -> dict[str, Any]:
    try:
        settings = json.loads(str(record["params"]))
    except json.JSONDecodeError as error:
        raise ValueError(f"params is not JSON: {error}") from error
    if not isinstance(settings, dict):
        raise ValueError(f"params is {settings!r}: it must be a JSON object")
    return settings


def _why_skipped(record: dict[str, np.ndarray], settings: dict[str, Any], game: _Game) -> str:
    used = set(record["actions"].tolist())
    if used & set(game.quits):
        return "quit: an agent has no such action"
    if settings.get("limbo_time") in (1, 2):
        return f"quirk: limbo_time {settings['limbo_time']}, which the original gets wrong"
    if settings.get("reward_sigma"):
        return "noise on the rewards is not in the record"
    unknown = sorted(used - set(game.actions))
    if unknown:
        raise ValueError(f"action id {unknown[0]} is not one of {game.env.title}'s")
    return ""


def _params_of(settings: dict[str, Any], game: _Game) -> Any:
    known = {field.name for field in dataclasses.fields(game.params)} - {"truncate_at_timeout"}
    for key in known - set(settings):
        raise ValueError(f"params has no {key!r}, which {game.env.title} needs")
    for key in set(settings) - known:
        raise ValueError(f"params has {key!r}, which {game.env.title} does not know")
    return game.params(**settings)


def _hidden_of(record: dict[str, np.ndarray], game: _Game) -> Any:
    if game.env.name == "cued_catch":
        return CuedCatchHidden(
            jnp.asarray(record["cues_to_balls"]), jnp.asarray(record["cue_sequence"])
        )
    if game.env.name == "sequence_recall":
        return SequenceRecallHidden(jnp.asarray(record["sequence"]))
    bits = np.unpackbits(record["speckle_packed"])
    shape = tuple(record["speckle_shape"].tolist())
    if shape != world.WORLD.shape or bits.size < world.WORLD.size:
        raise ValueError(
            f"speckle has shape {shape} in {bits.size} bits: it must be {world.WORLD.shape}"
        )
    mask = bits[: world.WORLD.size].reshape(world.WORLD.shape)
    return TMazeHidden(jnp.asarray(record["which_goal"]), GivenSpeckle.of(mask))


def _first_difference(record: dict[str, np.ndarray], episode: Episode[Any]) -> str:
    """Where the first frame that differs does so; empty if none does."""
    cells = record["boards"] != episode.boards
    checks = {
        "reward": (record["rewards"], episode.rewards, REWARD_TOLERANCE),
        "discount": (record["discounts"], episode.discounts, 0.0),
        "end": (record["game_over"], episode.over, 0.0),
    }
    wrong = {
        name: ~(abs(np.asarray(theirs, float) - np.asarray(ours, float)) <= tolerance)
        for name, (theirs, ours, tolerance) in checks.items()
    }
    frames = cells.any((1, 2)) | np.any(list(wrong.values()), axis=0)
    if not frames.any():
        return ""
    frame = int(frames.argmax())
    if cells[frame].any():
        row, col = np.argwhere(cells[frame])[0]
        theirs, ours = (chr(x[frame, row, col]) for x in (record["boards"], episode.boards))
        return f"frame {frame}, cell ({row}, {col}): recorded {theirs!r}, ours {ours!r}"
    name = next(name for name in checks if wrong[name][frame])
    theirs, ours, _ = checks[name]
    return f"frame {frame}, {name}: recorded {theirs[frame]}, ours {ours[frame]}"


def _need(record: dict[str, np.ndarray], keys: tuple[str, ...]) -> None:
    missing = [key for key in keys if key not in record]
    if missing:
        raise ValueError(f"it has no {', '.join(map(repr, missing))}: not a recorded episode")
