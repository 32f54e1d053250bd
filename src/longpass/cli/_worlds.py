"""The worlds as subcommands: one per entry of the registry, with a flag for each parameter."""

import dataclasses
import functools
import operator
from typing import TYPE_CHECKING, Annotated

import tyro

from longpass._json import JsonObject
from longpass.envs import WORLDS

if TYPE_CHECKING:
    from longpass.envs import AnyEnvironment, Params

    WorldParams = Params
else:
    WorldParams = functools.reduce(
        operator.or_,
        (
            Annotated[world.load_params(), tyro.conf.subcommand(world.name)]
            for world in WORLDS.values()
        ),
    )


def environment_of(params: "WorldParams") -> "AnyEnvironment":
    """The environment that has these parameters."""
    (world,) = (world for world in WORLDS.values() if world.load_params() is type(params))
    return world.load_environment()


def changed_params(params: "Params") -> JsonObject:
    """The parameters that differ from their defaults."""
    default = dataclasses.asdict(type(params)())
    return {name: x for name, x in dataclasses.asdict(params).items() if x != default[name]}
