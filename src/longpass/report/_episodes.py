"""Episodes of trained agents, packed for the page's player."""

import base64
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from longpass import _checks
from longpass._json import JsonObject
from longpass.agents import PlayedEpisode, RunSettings, holds_agent, load_network, play_policy
from longpass.envs import Action, AnyEnvironment, Params, paint_boards
from longpass.records import SETTINGS
from longpass.report._payload import pack_numbers

_MOST_UNITS = 256  # of each pool
_SCALE = 127


def record_episodes(
    folders: Sequence[Path], count: int, on_progress: Callable[[str], None] = lambda _: None
) -> list[JsonObject]:
    """Let every agent with a checkpoint below some folders play, as `longpass film` does.

    **Arguments:**

    - `folders`: where to look.
    - `count`: episodes per agent; their seeds are 0, 1, ...
    - `on_progress`: called with what is done next.

    **Returns:** the episodes. ValueError if there is no agent with a checkpoint.
    """
    _checks.positive_int("episodes", count)
    agents = sorted(
        {
            path.parent
            for folder in folders
            for path in Path(folder).rglob(SETTINGS)
            if any(path.parent.glob("*.npz")) and holds_agent(path.parent)
        }
    )
    found = []
    for agent in agents:
        run, network, _ = load_network(agent)
        if run.is_gymnasium:
            continue
        env = run.load_environment()
        for seed in range(count):
            on_progress(f"playing {agent}, seed {seed}")
            played = play_policy(env, run.params, network, seed)
            found.append(pack_episode(run, env, str(agent), seed, played))
    if not found:
        raise ValueError(
            f"episodes is {count}, but no agent in {', '.join(map(str, folders))} has a checkpoint "
            f"on one of our worlds: name the folder of a run (`longpass train --out`)"
        )
    return found


def pack_episode(
    run: RunSettings, env: AnyEnvironment, folder: str, seed: int, played: PlayedEpisode
) -> JsonObject:
    """An episode as the player takes it. Pools are packed as one byte per unit and frame.

    **Arguments:**

    - `run`: the run that the network is from.
    - `env`: its environment.
    - `folder`: the run's folder, as text.
    - `seed`: of the episode.
    - `played`: the episode.
    """
    boards = played.episode.boards
    frames, rows, columns = boards.shape
    codes, places = np.unique(boards, return_inverse=True)
    sizes = [part.shape[1] for part in played.memory]
    width = min(_MOST_UNITS, max(sizes))
    memory = np.stack([_quantise(part[:, :width], width) for part in played.memory], axis=1)
    names = (
        [f"{n}" for n in range(1, len(sizes) + 1)]
        if run.agent.network.has_pools
        else [f"state {n}" for n in range(1, len(sizes) + 1)]
    )
    return {
        "task": run.title,
        "folder": folder,
        "seed": seed,
        "frames": frames,
        "rows": rows,
        "columns": columns,
        "colours": paint_boards(env, codes[None, None])[0, 0].tolist(),
        "boards": _deflate(places.astype(np.uint8)),
        "actions": played.actions.tolist(),
        "action_names": [Action(n).name.lower() for n in range(env.action_space().n)],
        "phases": _name_phases(env, run.params, played),
        "rewards": pack_numbers([played.episode.rewards]),
        "values": pack_numbers([played.values]),
        "parts": [{"name": name, "size": width} for name in names],
        "units_left_out": max(sizes) - width,
        "memory": _deflate(memory),
    }


def _quantise(part: np.ndarray, width: int) -> np.ndarray:
    """A pool over an episode, (frames, width), from -127 to 127 of its own largest value."""
    scaled = np.round(_SCALE * part / max(float(np.abs(part).max()), 1e-30)).astype(np.int8)
    return np.pad(scaled, ((0, 0), (0, width - part.shape[1])))


def _name_phases(
    env: AnyEnvironment, params: Params, played: PlayedEpisode
) -> tuple[list[str], list[int]]:
    """(The phases of an episode, the place of each frame's among them)."""
    names: dict[str, int] = {}
    places = []
    for frame in range(len(played.episode)):
        state = jax.tree.map(lambda x, frame=frame: jnp.asarray(x[frame]), played.episode.states)
        places.append(names.setdefault(env.phase(state, params), len(names)))
    return list(names), places


def _deflate(array: np.ndarray) -> str:
    return base64.b64encode(zlib.compress(array.tobytes(), 9)).decode()
