"""Settings that work on each task, and how a run's settings are completed from them."""

import dataclasses
from typing import TYPE_CHECKING, Any

from longpass import envs
from longpass._fields import Overrides, replace_settings
from longpass._json import JsonObject
from longpass.agents._settings import (
    AgentSettings,
    HyperParams,
    LearnerSettings,
    NetworkSettings,
    RunSettings,
)
from longpass.memory import MemoryName, has_gates, has_pools

if TYPE_CHECKING:
    from longpass.envs import Params

GYM_SPAN = 100
"""The memory span that is assumed of a Gymnasium environment."""

# docs/understand/tuning.md says how these were found.
TASK_DEFAULTS: dict[str, AgentSettings] = {
    # An action is paid within seven frames, so a short discount suffices. A cue and its ball must
    # be one feature, and the sparser the embedding, the more of its units respond to both. At half
    # this learning rate one seed of six stayed at 57 of 60 until 4.7 million steps; at this, none.
    "cued-catch": AgentSettings(
        NetworkSettings(writer="frozen", embedding="sparse", threshold=2.0, normalise="layer"),
        LearnerSettings(),
        HyperParams(learning_rate=2e-3, discount=0.8, epsilon=1e-4),
    ),
    # Goals are far: uniform play never reaches one, so the first policy is uneven and the entropy's
    # weight low. V-trace looks ahead over the whole rollout, because a step into an arm is paid
    # some fifty steps later. Limbo, most of the time and the same in all episodes, is subtracted.
    "t-maze": AgentSettings(
        NetworkSettings(
            extra_pools=1,
            writer="frozen",
            embedding="centred",
            normalise="layer",
            logit_scale=2.0,
        ),
        LearnerSettings(slices=1),
        HyperParams(entropy_cost=2e-4, epsilon=1e-3),
    ),
    # The slowest pools distinguish the first two lights, and all four lights are distinguished by
    # their differences, so what they have in common is subtracted. Few frames count, so gradients
    # are noisy: a falling learning rate averages over more of them, and with a lambda below 1 a
    # step is not blamed for later ones, which the value predicts. With a shorter discount the
    # nearest light would be worth more than the right one. A policy that is sure too early keeps
    # mistaking sequences that begin with ABA for AA: the entropy's weight is high, and falls later.
    "sequence-recall": AgentSettings(
        NetworkSettings(extra_pools=2, writer="frozen", embedding="centred", normalise="layer"),
        LearnerSettings(lambda_=0.7),
        HyperParams(
            learning_rate=5e-4,
            entropy_cost=3e-2,
            discount=0.95,
            lr_halvings_per_million_steps=0.05,
            entropy_halvings_per_million_steps=0.1,
        ),
    ),
}
"""The settings of an agent in each world, for memories with pools."""
# What an LSTM or GRU needs instead on each task, found in trials like those for the pools. Gates
# that begin with long times are what matters most. With the embedding of the pools it learns
# nothing on Cued Catch, and with their epsilon it hardly moves in the T-maze. With fewer copies
# there are more steps of the optimiser per frame. Without a falling learning rate it leaves chance
# on Cued Catch and comes back to it.
GATED_DEFAULTS: dict[str, Overrides] = {
    "cued-catch": {
        "threshold": 0.5,
        "longest_time": 700,
        "learning_rate": 1e-3,
        "entropy_cost": 1e-3,
        "discount": 0.9,
        "epsilon": 1e-6,
        "lr_halvings_per_million_steps": 0.1,
    },
    "t-maze": {
        "longest_time": 700,
        "envs": 2,
        "learning_rate": 5e-4,
        "epsilon": 1e-5,
    },
    "sequence-recall": {
        "threshold": 0.5,
        "longest_time": 500,
        "envs": 2,
    },
}
"""What an LSTM or GRU has instead of `TASK_DEFAULTS`, by task and setting."""
# For other worlds, of which nothing is known: our conditioning of the network.
WORLD_DEFAULTS = AgentSettings(
    NetworkSettings(writer="frozen", embedding="sparse", normalise="layer")
)
# For Gymnasium environments: the paper's form.
GYM_DEFAULTS = AgentSettings(
    NetworkSettings(),
    LearnerSettings(rollout=60),
    HyperParams(learning_rate=5e-4, entropy_cost=1e-2),
)
"""The settings of an agent in a Gymnasium environment."""
PAPER: Overrides = {"writer": "learned", "embedding": "plain", "normalise": None}
"""The paper's own form of a network, as far as the paper describes it."""
# For the T-maze, the best of the study paper-search. Logits are small without normalisation: at a
# scale of 2 the first policy is too even to find a goal. For Cued Catch, what left chance in trials
# with 20 trials per episode: a writer that learns a hundred times slower than the reader.
PAPER_DEFAULTS: dict[str, Overrides] = {
    "cued-catch": {
        "learning_rate": 1e-3,
        "entropy_cost": 5e-4,
        "epsilon": 1e-5,
        "writer_rate": 0.01,
    },
    "t-maze": {
        "extra_pools": 2,
        "logit_scale": 4.0,
        "envs": 16,
        "optimiser": "rmsprop",
        "learning_rate": 2.5e-3,
        "epsilon": 1e-7,
        "lr_halvings_per_million_steps": 0.1,
    },
}
"""What memories with pools have in the paper's own form instead of `TASK_DEFAULTS`, by task and
setting."""
# `resolve_settings` completes some settings, with numbers that depend on others.
_COMPLETED = ("num_pools", "slices")
_BASIS = ("extra_pools", "rollout", "block_every")


def default_settings(
    env: str, memory: MemoryName = "chain", *, paper: bool = False
) -> AgentSettings:
    """The settings of an agent that suit an environment and a memory, before they are completed.

    **Arguments:**

    - `env`: the name of a world, or the id of a Gymnasium environment.
    - `memory`: the name of the memory.
    - `paper`: take the network in the paper's own form.

    **Returns:**

    The settings; `num_pools` and `slices` may still be None.
    """
    agent = GYM_DEFAULTS
    if env in envs.WORLDS:
        agent = TASK_DEFAULTS.get(env, WORLD_DEFAULTS)
    values = {"memory": memory}
    if has_gates(memory):
        values |= GATED_DEFAULTS.get(env, {})
    if paper:
        values |= PAPER
        if has_pools(memory):
            values |= PAPER_DEFAULTS.get(env, {})
    if not has_pools(memory):
        values |= {"normalise": None}
    return replace_settings(agent, values)


def resolve_settings(
    env: str,
    params: "Params | JsonObject | None" = None,
    overrides: Overrides | None = None,
    *,
    paper: bool = False,
    seed: int = 0,
) -> RunSettings:
    """Complete the settings of a run: what is not given is the default for the environment.

    **Arguments:**

    - `env`: the name of a world, or the id of a Gymnasium environment.
    - `params`: the world's parameters, or keyword arguments for `gymnasium.make`; None: the
      defaults.
    - `overrides`: settings of the agent by field name, of any of its parts.
    - `paper`: take the network in the paper's own form.
    - `seed`: the run's seed.

    **Returns:** the settings, with numbers for `num_pools` and `slices`.

    >>> run = resolve_settings("t-maze", overrides={"block_every": 3})
    >>> run.agent.network.num_pools, run.agent.learner.block_every
    (9, 3)
    """
    given = dict(overrides or {})
    memory = given.get("memory", NetworkSettings().memory)
    agent = replace_settings(default_settings(env, memory, paper=paper), given)
    if agent.network.num_pools is None:
        pools = agent.network.extra_pools + _fewest_pools(env, params)
        agent = replace_settings(agent, {"num_pools": pools})
    agent = replace_settings(agent, {"slices": agent.learner.num_slices})
    if params is None and env in envs.WORLDS:
        params = envs.WORLDS[env].load_params()()
    return RunSettings(env=env, params={} if params is None else params, agent=agent, seed=seed)


def changed_settings(run: RunSettings) -> Overrides:
    """What of a run is not a default.

    **Arguments:**

    - `run`: its settings, complete.

    **Returns:** parameters of its world and settings of its agent by name. The memory is always
    among them.
    """
    memory = run.agent.network.memory
    params = None if run.is_gymnasium else run.params
    usual = default_settings(run.env, memory)
    # What numbers are completed to depends on these settings of the run.
    basis = {name: _find_value(run.agent, name) for name in _BASIS}
    complete = resolve_settings(run.env, params, {"memory": memory, **basis}).agent
    changed: Overrides = {"memory": memory}
    for part in dataclasses.fields(run.agent):
        mine = getattr(run.agent, part.name)
        for field in dataclasses.fields(mine):
            value = getattr(mine, field.name)
            default = _find_value(complete if field.name in _COMPLETED else usual, field.name)
            if value != default:
                changed[field.name] = value
    if dataclasses.is_dataclass(run.params):
        for field in dataclasses.fields(run.params):
            value = getattr(run.params, field.name)
            if value != field.default:
                changed[field.name] = value
    return changed


def default_words(name: str) -> str:
    """The default of a setting of agents in words: in general, then where a task has another.

    **Arguments:**

    - `name`: the name of a field of `AgentSettings` or of one of its parts.

    **Returns:**

    The words.

    >>> default_words("envs")
    '8; 2 for t-maze with lstm or gru, sequence-recall with lstm or gru'
    """
    general = _find_value(AgentSettings(), name)
    agents = {"a Gymnasium environment": GYM_DEFAULTS, **TASK_DEFAULTS}
    agents["delayed-cue and worlds of your own"] = WORLD_DEFAULTS
    cases: dict[object, list[str]] = {}
    for task, agent in agents.items():
        value = _find_value(agent, name)
        if value != general:
            cases.setdefault(value, []).append(task)
        gated = GATED_DEFAULTS.get(task, {}).get(name, value)
        if gated != value:
            cases.setdefault(gated, []).append(f"{task} with lstm or gru")
    special = [f"{value} for {', '.join(at)}" for value, at in cases.items()]
    return "; ".join([f"{general}", *special])


def _find_value(agent: AgentSettings, name: str) -> object:
    for part in dataclasses.fields(agent):
        inner = getattr(agent, part.name)
        if hasattr(inner, name):
            return getattr(inner, name)
    raise ValueError(f"{name} is not a setting of AgentSettings")


def _fewest_pools(env: str, params: Any) -> int:
    """The fewest pools that reach the memory span of a task."""
    from longpass.theory import pools_for

    span = GYM_SPAN
    if env in envs.WORLDS:
        world = envs.WORLDS[env].load_environment()
        span = world.memory_span(world.default_params if params is None else params)
    return pools_for(float(span), 2.0)
