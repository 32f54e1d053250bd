"""The worlds by name. Adding one is a file for it and a line here, or a call of `register`.

This file does not import JAX: a world is loaded when it is first used.
"""

import dataclasses
import importlib
import re
from typing import TYPE_CHECKING, Any

from longpass import _checks

if TYPE_CHECKING:
    from longpass.envs._environment import AnyEnvironment, Params


@dataclasses.dataclass(frozen=True)
class World:
    """Where to find the classes of a world.

    >>> WORLDS["t-maze"].gym_id
    'longpass/TMaze-v0'
    """

    name: str
    """On the command line and in `make`, such as "t-maze"."""
    environment: str
    """The class of the environment, as "module:Class"."""
    params: str
    """The class of its parameters, as "module:Class"."""

    @property
    def gym_id(self) -> str:
        """The id for `gymnasium.make`, such as "longpass/TMaze-v0"."""
        return f"longpass/{self.environment.partition(':')[2]}-v0"

    def load_environment(self) -> "AnyEnvironment":
        """The environment. This imports JAX."""
        return _load(self.environment)()

    def load_params(self) -> type:
        """The class of its parameters."""
        return _load(self.params)


WORLDS: dict[str, World] = {}
"""All worlds, by name."""


def register(name: str, environment: str, params: str) -> None:
    """Add a world: everything that lists worlds then has it.

    The command line and `longpass.envs.gym` read the list when they are imported; call
    `longpass.envs.gym.register` after a later registration.

    **Arguments:**

    - `name`: lower-case words joined by dashes; it must equal the environment's `name`.
    - `environment`: the class of the environment, as "module:Class".
    - `params`: the class of its parameters, as "module:Class".
    """
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
        raise ValueError(f"name is {name!r}: it must be lower-case words joined by dashes")
    for argument, value in (("environment", environment), ("params", params)):
        if not re.fullmatch(r"[\w.]+:\w+", value):
            raise ValueError(f"{argument} is {value!r}: it must be 'module:Class'")
    world = World(name, environment, params)
    if WORLDS.get(name, world) != world:
        raise ValueError(f"name is {name!r}: it must not be the name of another world")
    WORLDS[name] = world


def names() -> tuple[str, ...]:
    """The names of all worlds.

    **Returns:**

    The names, such as `t-maze`.
    """
    return tuple(WORLDS)


def make(name: str, **params: object) -> "tuple[AnyEnvironment, Params]":
    """Make an environment and its parameters.

    **Arguments:**

    - `name`: one of `names()`.
    - `params`: parameters by name; those left out have their defaults.

    **Returns:** (environment, parameters).
    """
    _checks.one_of("name", name, names())
    world = WORLDS[name]
    record = world.load_params()
    known = [field.name for field in dataclasses.fields(record)]
    for key in params:
        if key not in known:
            raise TypeError(
                f"{key!r} is not a parameter of {name}: it must be one of {', '.join(known)}"
            )
    return world.load_environment(), record(**params)


def _load(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


_SETTINGS = "longpass.envs._settings"
register("cued-catch", "longpass.envs._cued_catch:CuedCatch", f"{_SETTINGS}:CuedCatchParams")
register("t-maze", "longpass.envs._t_maze:TMaze", f"{_SETTINGS}:TMazeParams")
register(
    "sequence-recall",
    "longpass.envs._sequence_recall:SequenceRecall",
    f"{_SETTINGS}:SequenceRecallParams",
)
register("delayed-cue", "longpass.envs._delayed_cue:DelayedCue", f"{_SETTINGS}:DelayedCueParams")
