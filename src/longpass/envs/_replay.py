"""Recorded episodes of the original games, played again here and compared frame by frame."""

import dataclasses
from pathlib import Path
from typing import Literal

import numpy as np

from longpass._archives import DamagedFile, read_archive
from longpass._json import JsonObject, parse_json
from longpass.envs import _registry
from longpass.envs._environment import AnyEnvironment, Params, Recording
from longpass.envs._episode import AnyEpisode, play_episode

REWARD_TOLERANCE = 1e-6
_FRAMES = ("boards", "rewards", "discounts", "game_over")


@dataclasses.dataclass(frozen=True)
class ReplayResult:
    """The result of replaying one file."""

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


def find_episodes(paths: list[Path]) -> list[Path]:
    """List recorded episodes: the files among `paths`, and the .npz files in the folders.

    **Arguments:**

    - `paths`: files, and folders with files.

    **Returns:**

    The files, those of a folder in the order of their names.
    """
    found = []
    for path in paths:
        inside = sorted(path.glob("*.npz")) if path.is_dir() else [path]
        if not inside:
            raise ValueError(f"{path} has no .npz files: give a folder of recorded episodes")
        found += inside
    return found


def replay_episode(path: Path) -> ReplayResult:
    """Play a recorded episode on our environment and compare every frame.

    **Arguments:**

    - `path`: an .npz file (docs/reference/files.md says what is in it).

    **Returns:**

    Whether every frame is equal, or where the first difference is.
    """
    try:
        record = _load(path)
        env, recording = _environment_of(record)
        about = {
            "path": str(path),
            "game": str(record["game"]),
            "label": str(record["label"]) if "label" in record else "",
            "steps": len(record["actions"]),
        }
        settings = _settings(record)
        reason = _reason_to_skip(record, settings, recording)
        if reason:
            return ReplayResult(**about, status="skipped", detail=reason)
        actions = _actions_of(record, env, recording)
        params = _params_of(settings, env)
        hidden = recording.read_hidden(record)
        episode = play_episode(env, params, hidden, actions)
        difference = _first_difference(record, episode)
    except (ValueError, TypeError, OSError, OverflowError) as error:
        return ReplayResult(path=str(path), status="unreadable", detail=str(error))
    return ReplayResult(**about, status="different" if difference else "equal", detail=difference)


def _load(path: Path) -> dict[str, np.ndarray]:
    if not path.exists():
        raise ValueError("there is no such file")
    try:
        return read_archive(path)
    except DamagedFile as error:
        raise ValueError(f"damaged, or not an .npz file of plain arrays ({error})") from error


def _environment_of(record: dict[str, np.ndarray]) -> tuple[AnyEnvironment, Recording]:
    """The environment of a recorded game; its name has underscores where ours has dashes."""
    _need(record, ("game",))
    name = str(record["game"])
    world = _registry.WORLDS.get(name.replace("_", "-"))
    env = None if world is None else world.load_environment()
    if env is None or env.recording is None:
        every = [world.load_environment() for world in _registry.WORLDS.values()]
        known = [env.name.replace("-", "_") for env in every if env.recording]
        raise ValueError(f"game is {name!r}: it must be one of {', '.join(known)}")
    _need(record, ("params", "actions", *_FRAMES, *env.recording.hidden))
    if record["actions"].ndim != 1 or not np.issubdtype(record["actions"].dtype, np.integer):
        raise ValueError(
            f"actions has shape {record['actions'].shape} and dtype "
            f"{record['actions'].dtype}: it must be one whole number per step"
        )
    frames = len(record["actions"]) + 1
    for key in _FRAMES:
        cells = (env.rows, env.cols) if key == "boards" else ()
        if record[key].shape != (frames, *cells):
            raise ValueError(
                f"{key} has shape {record[key].shape}: it must be {(frames, *cells)}, a frame for "
                "the start and one for each action"
            )
    return env, env.recording


def _settings(record: dict[str, np.ndarray]) -> JsonObject:
    try:
        return parse_json(str(record["params"]))
    except ValueError as error:
        raise ValueError(f"params is not a JSON object: {error}") from error


def _reason_to_skip(
    record: dict[str, np.ndarray], settings: JsonObject, recording: Recording
) -> str:
    if set(record["actions"].tolist()) & set(recording.quits):
        return "quit: an agent has no such action"
    return recording.reason_to_skip(settings)


def _actions_of(
    record: dict[str, np.ndarray], env: AnyEnvironment, recording: Recording
) -> list[int]:
    unknown = sorted(set(record["actions"].tolist()) - set(recording.actions))
    if unknown:
        raise ValueError(f"action id {unknown[0]} is not one of {env.title}'s")
    return [recording.actions[int(action)] for action in record["actions"]]


def _params_of(settings: JsonObject, env: AnyEnvironment) -> Params:
    fields = {field.name for field in dataclasses.fields(env.default_params)}
    known = fields - {"truncate_at_timeout"}
    for key in known - set(settings):
        raise ValueError(f"params has no {key!r}, which {env.title} needs")
    for key in set(settings) - known:
        raise ValueError(f"params has {key!r}, which {env.title} does not know")
    return dataclasses.replace(env.default_params, **settings)


def _first_difference(record: dict[str, np.ndarray], episode: AnyEpisode) -> str:
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
