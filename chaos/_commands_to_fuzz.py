"""The flags of every command, and flags that contradict each other."""

from typing import Literal, NamedTuple

from chaos._wrong_values import Setting, settings_of, world_settings
from longpass._checks import MOST_SEED
from longpass._rates import MOST_POOLS
from longpass.agents import AgentSettings, PopulationSettings, StudyPlan
from longpass.streams import StreamSettings, SweepPlan

_SEED = Setting("seed", int, 0, None, MOST_SEED)
_WORKERS = Setting("workers", int, 1, None, 1000)
_ENGINE = Setting("engine", Literal["local", "ray"])


class Flags(NamedTuple):
    """A command, and the flags of it that can be wrong."""

    words: list[str]
    settings: list[Setting]


def command_flags() -> list[Flags]:
    """Every command that has flags which can be wrong."""
    worlds = world_settings()
    agent = settings_of(AgentSettings)
    population = [
        setting._replace(name="members") if setting.name == "size" else setting
        for setting in settings_of(PopulationSettings)
    ]
    study = [setting for setting in settings_of(StudyPlan) if setting.name != "name"]
    steps = Setting("steps", float, None, 0.0)
    found = [
        Flags(
            ["pools"],
            [
                Setting("base", float, None, 1.0),
                Setting("horizon", float, 0.0),
                Setting("pools", int, 1, None, MOST_POOLS),
            ],
        ),
        Flags(["classify"], settings_of(StreamSettings)),
        Flags(["sweep"], [*settings_of(SweepPlan), _WORKERS, _ENGINE]),
        Flags(["study", "onset"], [*study, _WORKERS, _ENGINE]),
        Flags(["evaluate", "nowhere"], [_SEED, Setting("episodes", int, 1, None, 10**6)]),
        Flags(["figure", "impulse"], [Setting("over", Literal["episodes", "steps"])]),
        Flags(["reproduce"], [Setting("preset", Literal["quick"]), _WORKERS]),
        Flags(["replay", "nowhere.npz"], [Setting("no_such_flag", Literal["a"])]),
        Flags(["check", "nowhere:nothing"], [Setting("length", int, 2)]),
        Flags(["benchmark"], [Setting("preset", Literal["quick"]), _WORKERS]),
        Flags(["export", "nowhere"], [_SEED, Setting("episodes", int, 1, None, 10**6)]),
        Flags(["report", "nowhere"], [Setting("episodes", int, 0)]),
        Flags(["watch", "nowhere"], [Setting("port", int, 0, None, 65535)]),
    ]
    for name, params in worlds.items():
        found += [
            Flags(["train", name], [*agent, *params, _SEED, steps, _ENGINE]),
            Flags(["pbt", name], [*agent, *params, *population, _SEED, _WORKERS, _ENGINE]),
            Flags(["film", name], [*params, _SEED, Setting("fps", float, 0.01)]),
            Flags(["play", name], [*params, _SEED, Setting("fps", float, 0.0)]),
        ]
    return found


CONTRADICTIONS: list[tuple[list[str], list[str]]] = [
    (["pools", "--horizon", "3", "--pools", "3"], ["horizon"]),
    (["pools", "--pools", "61"], ["pools"]),
    (["classify", "--resume"], ["resume"]),
    (["classify", "--memory", "gru", "--pool-size", "3"], ["pool_size"]),
    (["classify", "--memory", "chain", "--state-size", "3"], ["state_size"]),
    (["classify", "--memory", "gru", "--learner", "native"], ["learner"]),
    (["classify", "--words-seed", "3"], ["words_seed"]),
    (["classify", "--symbols", "10"], ["symbols"]),
    (["sweep", "--truncations", "2", "2"], ["truncations"]),
    (["sweep", "--symbols", "1"], ["symbols"]),
    (["train"], ["task"]),
    (["train", "t-maze", "--gym", "CartPole-v1"], ["gym"]),
    (["train", "t-maze", "--gym-kwargs", "{}"], ["gym_kwargs"]),
    (["train", "--gym", "CartPole-v1", "--gym-kwargs", "七"], ["gym_kwargs"]),
    (["train", "--gym", "Nö-v0"], ["gym"]),
    (["train", "--resume", "--out", "nowhere"], ["nowhere"]),
    (["train", "t-maze", "--rollout", "7", "--slices", "3"], ["slices"]),
    (["train", "t-maze", "--block-every", "9", "--rollout", "3"], ["block_every"]),
    (["train", "t-maze", "--envs", "3", "--minibatches", "2"], ["minibatches"]),
    (["train", "t-maze", "--memory", "lstm", "--normalise", "layer"], ["normalise"]),
    (["train", "t-maze", "--memory", "chain", "--longest-time", "9"], ["longest_time"]),
    (["train", "t-maze", "--actors", "2"], ["actors"]),
    (["train", "t-maze", "--address", "auto"], ["address"]),
    (["train", "t-maze", "--limbo-time", "1"], ["limbo_time"]),
    (["pbt", "t-maze", "--window", "9", "--episodes", "3"], ["window"]),
    (["study", "onset", "--tasks", "chess"], ["tasks"]),
    (["study", "dance"], ["dance"]),
    (["evaluate", "nowhere"], ["nowhere"]),
    (["replay", "nowhere"], ["nowhere"]),
    (["film", "t-maze", "--policy", "nowhere"], ["nowhere"]),
    (["figure", "lineage"], ["lineage"]),
    (["figure", "impulse", "nowhere"], ["nowhere"]),
    (["figure", "truncation", "--records", "nowhere"], ["records"]),
    (["figure", "\udcff"], ["name"]),
    (["claims", "--records", "nowhere"], ["records"]),
    (["dänce"], ["command"]),
    ([], ["command"]),
]
