"""From flags to a run of an agent: what is not given is the task's default."""

from typing import Any

from longpass import envs
from longpass._settings import AgentFields
from longpass.agents._config import Config, world_name
from longpass.agents._defaults import (
    GYM_DEFAULTS,
    GYM_SPAN,
    PAPER,
    TASK_DEFAULTS,
    TaskDefaults,
    conditioning,
)
from longpass.agents._settings import AgentSettings, slices_for

_HYPER = (
    "learning_rate",
    "entropy_cost",
    "discount",
    "epsilon",
    "clip_norm",
    "halvings",
    "reward_scale",
)


def configure(task: str, values: dict[str, Any], fields: AgentFields) -> Config:
    """The run that these fields ask for, complete.

    **Arguments:** `task`: one of the three worlds, or a Gymnasium environment; `values`: the
    world's parameters; `fields`: of the agent, None where the task's default holds.
    """
    if world_name(task) in envs.WORLDS:
        env, params = envs.make(world_name(task), **values)
        defaults, span = TASK_DEFAULTS.get(task, TaskDefaults()), env.memory_span(params)
        form = PAPER if fields.paper else conditioning(fields.memory, defaults.embedding)
    else:
        defaults, span, form = GYM_DEFAULTS, GYM_SPAN, PAPER

    def given(name: str, otherwise: Any) -> Any:
        value = getattr(fields, name)
        return otherwise if value is None else value

    rollout = given("rollout", defaults.rollout)
    settings = AgentSettings(
        envs=given("envs", defaults.envs),
        rollout=rollout,
        slices=fields.slices or slices_for(rollout, fields.block_every, defaults.slices),
        block_every=fields.block_every,
        horizon=fields.horizon,
        lag=fields.lag,
        optimiser=fields.optimiser,
        lambda_=given("lambda_", defaults.lambda_),
        slow_rate=fields.slow_rate,
    )
    network = {
        "family": fields.memory,
        "pools": given("pools", defaults.pools(span)),
        "pool_size": fields.pool_size,
        "viewport_size": fields.viewport_size,
        "summary_size": fields.summary_size,
        "size": fields.size,
        **{name: given(name, value) for name, value in form.items()},
        "threshold": given("threshold", defaults.threshold),
        "logit_scale": given("logit_scale", defaults.logit_scale),
    }
    hyper = {name: given(name, getattr(defaults, name)) for name in _HYPER}
    return Config(task, values, network, hyper, settings, fields.seed, fields.dispatch)
