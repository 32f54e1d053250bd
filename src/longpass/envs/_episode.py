"""Whole episodes, each in one compiled call: for replays, films, figures and tests."""

import functools
from collections.abc import Sequence
from typing import Any, Generic

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree, UInt8

from longpass.envs._environment import (
    Action,
    AnyEnvironment,
    Environment,
    HiddenT,
    ParamsT,
    StateT,
    check_action,
)

_LEAST_LENGTH = 128


class Episode(eqx.Module, Generic[StateT]):
    """Frames 0 to E of an episode of E actions; `states` has a leading axis of frames too."""

    boards: UInt8[np.ndarray, "frames rows cols"]
    """Character codes."""
    rewards: Float[np.ndarray, " frames"]
    """0 on frame 0."""
    discounts: Float[np.ndarray, " frames"]
    over: Bool[np.ndarray, " frames"]
    states: StateT

    def __len__(self) -> int:
        return len(self.over)


AnyEpisode = Episode[Any]
"""An episode of any world."""


def play_episode(
    env: Environment[ParamsT, StateT, HiddenT],
    params: ParamsT,
    hidden: HiddenT,
    actions: np.ndarray | Sequence[int],
    key: PRNGKeyArray | None = None,
) -> Episode[StateT]:
    """Play given actions in an episode with given hidden draws.

    **Arguments:**

    - `env`: the environment.
    - `params`: its parameters.
    - `hidden`: the hidden draws, such as `env.draw` makes.
    - `actions`: the action of each step.
    - `key`: used only if rewards are noisy.

    **Returns:** all frames. Frames after the end repeat the last one, with no reward.
    """
    env.check_hidden(hidden, params)
    actions = np.asarray(actions, np.int32).reshape(-1)
    for action in np.unique(actions):
        check_action(action)
    key = jax.random.key(0) if key is None else key
    # Lengths are rounded up to powers of two, so that a folder of episodes compiles a few times.
    length = max(_LEAST_LENGTH, 1 << (len(actions) - 1).bit_length() if len(actions) else 0)
    padded = np.full(length, Action.STAY, np.int32)
    padded[: len(actions)] = actions
    frames = _play(env, params, hidden, padded, key)
    return Episode(*jax.tree.map(lambda x: np.asarray(x)[: len(actions) + 1], frames))


def random_actions(env: AnyEnvironment, seed: int, count: int) -> Int[np.ndarray, " steps"]:
    """Draw `count` actions, all equally likely.

    **Arguments:**

    - `env`: the environment.
    - `seed`: equal seeds draw equal actions.
    - `count`: how many.

    **Returns:**

    The actions, of shape `(count,)`.
    """
    return np.random.default_rng(seed).integers(0, env.action_space().n, count, dtype=np.int32)


@functools.partial(jax.jit, static_argnums=0)
def _play(
    env: Environment[ParamsT, StateT, HiddenT],
    params: ParamsT,
    hidden: HiddenT,
    actions: Int[Array, " steps"],
    key: PRNGKeyArray,
) -> tuple[PyTree[Array], ...]:
    def frame(
        state: StateT, action_and_key: tuple[Int[Array, ""], PRNGKeyArray]
    ) -> tuple[StateT, tuple[PyTree[Array], ...]]:
        action, key = action_and_key
        state, reward, _, _, info = env._transition(key, state, action, params)
        return state, (reward, info["discount"], env.over(state, params), state)

    start = env.begin(hidden, params)
    over = env.over(start, params)
    first = (jnp.float32(0.0), 1.0 - over.astype(jnp.float32), over, start)
    _, rest = jax.lax.scan(frame, start, (actions, jax.random.split(key, len(actions))))
    frames = jax.tree.map(lambda a, b: jnp.concatenate([jnp.asarray(a)[None], b]), first, rest)
    return jax.vmap(lambda state: env.board(state, params))(frames[-1]), *frames
