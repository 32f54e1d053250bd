"""Public classes and functions that take settings, called without allocating what they ask for."""

import functools
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax

import longpass
import longpass.torch
from chaos._wrong_values import Setting, settings_of, world_settings
from longpass import envs, memory, theory
from longpass._rates import MOST_POOLS
from longpass.agents import (
    HyperParams,
    LearnerSettings,
    NetworkSettings,
    PopulationSettings,
    RunSettings,
    StudyPlan,
)
from longpass.streams import StreamSettings, SweepPlan


class Constructor(NamedTuple):
    """What is called, and the arguments of it that are drawn."""

    name: str
    make: Callable[..., object]
    settings: list[Setting]


def _size(name: str) -> Setting:
    return Setting(name, int, 1)


_BASE = Setting("base", float, None, 1.0)
_NORMALISE = Setting("normalise", Literal["layer"], optional=True)
_RATES = Setting("rates", tuple, 0.0, None, 1.0)
_HORIZON = Setting("horizon", float, 0.0)
_GATED = [_size("input_size"), _size("hidden_size"), Setting("forget_bias", float)]
_GATED += [Setting("longest_time", int, 3, optional=True)]
_DTYPE = Setting("dtype", Literal["float16", "bfloat16", "float32", "int8"])
_POOLED = [_size("input_size"), _size("output_size"), _size("pool_size"), _size("viewport_size")]
_POOLED += [Setting("num_pools", int, 1, None, MOST_POOLS), Setting("gradient_pools", int, 0)]
_POOLED += [_BASE, _NORMALISE]
_TORCH = [_size("input_size"), _size("hidden_size"), _size("output_size"), _size("viewport_size")]
_TORCH += [Setting("num_layers", int, 1, None, MOST_POOLS), Setting("gradient_pools", int, 0)]
_TORCH += [_BASE, _NORMALISE, Setting("state", Literal["gru", "lstm"])]
_TORCH += [Setting("dropout", float, 0.0), Setting("bidirectional", bool)]


def _make_memory(cls: Any, given: dict[str, Any], **values: Any) -> object:
    """A memory of JAX, as shapes only."""
    return eqx.filter_eval_shape(lambda: cls(**given | values, key=jax.random.key(0)))


def _make_pools(cls: Any, **values: Any) -> object:
    return cls(**{"size": 2, "rates": [0.5]} | values)


def _make_module(cls: Any, given: dict[str, Any], **values: Any) -> object:
    """A module of PyTorch, as shapes only."""
    return cls(**given | {"device": "meta"} | values)


def _call(function: Any, given: dict[str, Any], **values: Any) -> object:
    return function(**given | values)


def _resolve(**values: Any) -> object:
    return StreamSettings(**values).resolved()


def _check_plan(**values: Any) -> None:
    SweepPlan(**values).check()


def _constructors() -> list[Constructor]:
    concrete, gated = {"input_size": 3}, {"input_size": 3, "hidden_size": 4}
    network, partial = {"input_size": 3, "hidden_size": 4}, functools.partial
    found = [
        Constructor("StreamSettings", _resolve, settings_of(StreamSettings)),
        Constructor("SweepPlan", _check_plan, settings_of(SweepPlan)),
        Constructor("NetworkSettings", NetworkSettings, settings_of(NetworkSettings)),
        Constructor("LearnerSettings", LearnerSettings, settings_of(LearnerSettings)),
        Constructor("HyperParams", HyperParams, settings_of(HyperParams)),
        Constructor("PopulationSettings", PopulationSettings, settings_of(PopulationSettings)),
        Constructor(
            "RunSettings",
            partial(_call, RunSettings, {"env": "t-maze"}),
            [Setting("env", str), Setting("seed", int, 0, None, 2**32 - 1)],
        ),
        Constructor(
            "StudyPlan",
            partial(_call, StudyPlan, {"name": "onset"}),
            settings_of(StudyPlan),
        ),
        Constructor("rates", longpass.rates, [_BASE, Setting("pools", int, 1, None, MOST_POOLS)]),
        Constructor("pools_for", theory.pools_for, [_HORIZON, _BASE]),
        Constructor("mean_delay", theory.mean_delay, [_RATES]),
        Constructor("peak_delay", theory.peak_delay, [_RATES]),
        Constructor("spread", theory.spread, [_RATES]),
    ]
    found[-4] = found[-4]._replace(
        make=partial(_call, theory.pools_for, {"horizon": 9.0, "base": 2.0})
    )
    found[-5] = found[-5]._replace(make=partial(_call, longpass.rates, {"base": 2.0, "pools": 3}))
    for cls in (memory.Concrete, memory.Parallel):
        make = partial(_make_memory, cls, concrete)
        found.append(Constructor(cls.__name__, make, [*_POOLED, _DTYPE]))
    for cls in (memory.LSTM, memory.GRU):
        found.append(Constructor(cls.__name__, partial(_make_memory, cls, gated), _GATED))
    for cls in (memory.PoolChain, memory.PoolBank):
        make = partial(_make_pools, cls)
        found.append(Constructor(cls.__name__, make, [_size("size"), _RATES, _DTYPE]))
    for cls in (longpass.torch.Concrete, longpass.torch.Parallel, longpass.torch.ConcreteCell):
        make = partial(_make_module, cls, network)
        found.append(Constructor(f"torch.{cls.__name__}", make, _TORCH))
    for cls in (longpass.torch.PoolChain, longpass.torch.PoolBank):
        make = partial(_make_pools, cls)
        found.append(Constructor(f"torch.{cls.__name__}", make, [_size("size"), _RATES]))
    for name, params in world_settings().items():
        found.append(Constructor(f"make({name})", partial(envs.make, name), params))
    return found


CONSTRUCTORS = _constructors()
