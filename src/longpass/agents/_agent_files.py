"""Trained agents in single files (safetensors): weights, settings, and what they score.

Arrays have the names of their places in the network, such as `.torso.linear.weight`. The metadata
`longpass-agent` is a JSON object with the settings of the run, a card and the version of longpass.
"""

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import PyTree

from longpass._json import JsonObject, parse_json
from longpass.agents._run import load_network
from longpass.agents._settings import RunSettings
from longpass.agents._trainers import make_trainer
from longpass.networks import ActorCritic
from longpass.records import write_atomically

PRETRAINED = "pretrained:"
"""What the name of an agent that comes with longpass begins with, where a run could be named."""
SUFFIX = ".safetensors"
_METADATA = "longpass-agent"
_FOLDER = Path(__file__).parent / "pretrained"


class SavedAgent(NamedTuple):
    """A trained agent."""

    run: RunSettings
    """The settings of its run."""
    network: ActorCritic
    """Its network."""
    card: JsonObject
    """What is known about it: its score, and how it was trained."""


def round_weights(network: ActorCritic) -> ActorCritic:
    """The network as a file with half the precision would hold it.

    **Arguments:**

    - `network`: of an agent.

    **Returns:** the network with weights rounded to 16 bits, in their own dtype. ValueError if one
    is too large for that.
    """
    rounded = jax.tree.map(lambda leaf: leaf.astype(np.float16).astype(leaf.dtype), network)
    for name, leaf in _name_arrays(rounded):
        if not np.all(np.isfinite(leaf)):
            raise ValueError(f"{name} has weights beyond 65504: they must be stored with 32 bits")
    return rounded


def save_agent(path: str | Path, agent: SavedAgent, *, half: bool = False) -> None:
    """Write an agent into a file.

    **Arguments:**

    - `path`: the file, which is replaced if it exists.
    - `agent`: the agent.
    - `half`: store weights with 16 bits. What is loaded is then `round_weights` of the network.
    """
    from safetensors.numpy import save

    about = {"settings": agent.run.to_json(), "card": agent.card, "version": version("longpass")}
    arrays = {
        name: np.ascontiguousarray(leaf, np.float16 if half else leaf.dtype)
        for name, leaf in _name_arrays(round_weights(agent.network) if half else agent.network)
    }
    data = save(arrays, metadata={_METADATA: json.dumps(about, sort_keys=True)})
    write_atomically(Path(path), lambda file: file.write(data))


def load_agent(path: str | Path) -> SavedAgent:
    """The agent in a file that `save_agent` wrote. Nothing is compiled or played.

    **Arguments:**

    - `path`: the file.

    **Returns:** the agent. ValueError if the file is damaged or something else.
    """
    from safetensors import SafetensorError, safe_open

    if not Path(path).is_file():
        raise ValueError(f"path is {str(path)!r}: it must be a file that longpass saved")
    try:
        with safe_open(path, framework="numpy") as file:
            about = parse_json((file.metadata() or {})[_METADATA])
            names = file.keys()
            arrays = {name: file.get_tensor(name) for name in names}
        run, card = RunSettings.from_json(about["settings"]), dict(about["card"])
    except (SafetensorError, KeyError, ValueError, TypeError) as error:
        raise ValueError(
            f"{path} is not an agent that longpass saved, damaged, or of another version ({error})"
        ) from None
    like = make_trainer(run).state_shapes().weights.network
    shapes = {name: (leaf.shape, leaf.dtype) for name, leaf in _name_arrays(like)}
    # Weights that were stored with 16 bits get their dtype back.
    arrays = {
        name: array.astype(shapes[name][1])
        if name in shapes and array.dtype == np.float16
        else array
        for name, array in arrays.items()
    }
    if shapes != {name: (array.shape, array.dtype) for name, array in arrays.items()}:
        raise ValueError(f"{path} is of another network or version: its arrays do not fit")
    leaves = [jax.device_put(arrays[name]) for name in shapes]
    return SavedAgent(run, jax.tree.unflatten(jax.tree.structure(like), leaves), card)


def pretrained_names() -> list[str]:
    """Which agents come with longpass.

    **Returns:** their names, in alphabetical order.
    """
    return sorted(path.stem for path in _FOLDER.glob(f"*{SUFFIX}"))


def load_pretrained(name: str) -> SavedAgent:
    """An agent that comes with longpass.

    **Arguments:**

    - `name`: one of `pretrained_names()`, such as `t-maze-chain`.

    **Returns:** the agent.
    """
    names = pretrained_names()
    if name not in names:
        raise ValueError(f"name is {name!r}: it must be one of {', '.join(names)}")
    return load_agent(_FOLDER / f"{name}{SUFFIX}")


def load_policy(
    where: str | Path, name: str = "RUN"
) -> tuple[RunSettings, ActorCritic, str | None]:
    """The network of a trained agent, wherever it is.

    **Arguments:**

    - `where`: `pretrained:NAME`, a file that `save_agent` wrote, or the folder of a run.
    - `name`: what the user calls it, for messages.

    **Returns:** (settings, network, a warning if the latest checkpoint of a run is damaged).
    """
    text, path = str(where), Path(where).expanduser()
    if text.startswith(PRETRAINED):
        agent = load_pretrained(text.removeprefix(PRETRAINED))
    elif path.is_file():
        agent = load_agent(path)
    else:
        return load_network(path, name)
    return agent.run, agent.network, None


def _name_arrays(network: PyTree) -> list[tuple[str, Any]]:
    """(Name, leaf) of every array, or shape and dtype of one, in a network."""
    leaves = jax.tree_util.tree_leaves_with_path(network)
    return [(jax.tree_util.keystr(path), leaf) for path, leaf in leaves]
