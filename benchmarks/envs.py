"""Steps a second of the three worlds, observations included, beside pycolab's engine.

Our side is one compiled run: random actions, auto-reset, and every observation written to memory.
pycolab's is its engine on a comparable gridworld (a maze walker, two drapes, one update and one
render a step), turned into the same kind of binary planes, one copy after the other in Python.
"""

import dataclasses
import functools
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console
from rich.table import Table

from longpass.envs import Action, AutoReset, CuedCatch, Environment, SequenceRecall, TMaze

COPIES = (1, 64, 1024, 8192)
_STEPS = {1: 20_000, 64: 4_000, 1024: 1_000, 8192: 100}


@dataclasses.dataclass(frozen=True)
class Row:
    """One measurement."""

    world: str
    copies: int
    steps_per_second: float
    compile_seconds: float
    bytes_per_copy: int
    """The state alone, without the observation."""


def measure(env: Environment[Any, Any, Any], copies: int, repeats: int = 3) -> Row:
    """The best of several runs of one environment."""
    auto, params, steps = AutoReset(env), env.default_params, _STEPS[copies]

    def one_step(carry: Any, key: jax.Array) -> tuple[Any, None]:
        state, _, total = carry
        action_key, *step_keys = jax.random.split(key, 1 + copies)
        actions = jax.random.randint(action_key, (copies,), 0, len(Action))
        observation, state, reward, *_ = jax.vmap(functools.partial(auto.step, params=params))(
            jnp.stack(step_keys), state, actions
        )
        # The observation is carried, so that it has to be there after every step.
        return (state, observation, total + reward), None

    @jax.jit
    def run(key: jax.Array, carry: Any) -> Any:
        return jax.lax.scan(one_step, carry, jax.random.split(key, steps))[0]

    return _time(env, copies, run, steps, repeats)
