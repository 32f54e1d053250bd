"""The worlds for Gymnasium. Importing this module registers them.

    import gymnasium
    import longpass.envs.gym

    env = gymnasium.make("longpass/TMaze-v0", limbo_time=50)
    envs = gymnasium.make_vec("longpass/TMaze-v0", num_envs=256)

or, with no import of ours, `gymnasium.make("longpass.envs.gym:longpass/TMaze-v0")`. Keyword
arguments are the parameters of the world.

The vector version is one compiled step of all copies. A copy whose episode ends begins the next
one in the same step (Gymnasium's `AutoresetMode.SAME_STEP`): its last frame is in
`infos["final_obs"]`.
"""

import functools
from typing import Any, ClassVar

import jax
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray, PyTree, UInt8

from longpass._extras import explain_missing

try:
    import gymnasium
except ModuleNotFoundError as error:
    raise explain_missing(error, __name__) from error
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from longpass import _checks
from longpass.envs import _registry
from longpass.envs._environment import Action, ActionLike, AnyEnvironment, AutoReset, Params
from longpass.envs._palette import paint_boards

_CELL = 16  # pixels per cell of a rendered picture
GymDict = dict[str, Any]
"""Metadata, options or infos, as Gymnasium types them."""


def _spaces(env: AnyEnvironment) -> tuple[spaces.Box, spaces.Discrete]:
    shape = env.observation_space().shape
    return spaces.Box(0, 1, shape, np.uint8), spaces.Discrete(env.action_space().n)


def _picture(env: AnyEnvironment, state: PyTree[Array], params: Params) -> np.ndarray:
    board = paint_boards(env, np.asarray(env.board(state, params)))
    return board.repeat(_CELL, 0).repeat(_CELL, 1)


class SingleWorld(gymnasium.Env):
    """One copy of a world.

    **Arguments:**

    - `world`: its name in the registry, such as "t-maze".
    - `render_mode`: "rgb_array", "ansi" or None.
    - `params`: parameters of the world.
    """

    metadata: ClassVar[GymDict] = {  # pyright: ignore[reportIncompatibleVariableOverride]
        "render_modes": ["rgb_array", "ansi"],
        "render_fps": 20,
    }

    def __init__(self, world: str, render_mode: str | None = None, **params: object):
        if render_mode is not None:
            _checks.one_of("render_mode", render_mode, self.metadata["render_modes"])
        self._env, self._params = _registry.make(world, **params)
        self.render_mode = render_mode
        self.observation_space, self.action_space = _spaces(self._env)
        self._state: PyTree[Array] = None

    def reset(
        self, *, seed: int | None = None, options: GymDict | None = None
    ) -> tuple[np.ndarray, GymDict]:
        """Begin an episode. `options={"hidden": ...}` plays with hidden draws given by hand."""
        super().reset(seed=seed)
        self._key = jax.random.key(int(self.np_random.integers(2**32)))
        self._key, key = jax.random.split(self._key)
        hidden = (options or {}).get("hidden")
        observation, self._state = self._env.reset(key, self._params, hidden)
        return np.asarray(observation), {}

    def step(self, action: ActionLike) -> tuple[np.ndarray, float, bool, bool, GymDict]:
        self._key, key = jax.random.split(self._key)
        observation, self._state, reward, terminated, truncated, info = self._env.step(
            key, self._state, action, self._params
        )
        return (
            np.asarray(observation),
            float(reward),
            bool(terminated),
            bool(truncated),
            {name: np.asarray(value).item() for name, value in info.items()},
        )

    def render(self) -> np.ndarray | str | None:
        """The board as a picture [height, width, 3], or as lines of characters."""
        if self.render_mode == "ansi":
            return self._env.text(self._state, self._params)
        if self.render_mode == "rgb_array":
            return _picture(self._env, self._state, self._params)
        return None


class VectorWorld(VectorEnv):
    """Many copies of a world, stepped as one.

    **Arguments:**

    - `world`: its name in the registry, such as "t-maze".
    - `num_envs`: how many copies.
    - `render_mode`: "rgb_array" or None.
    - `params`: parameters of the world.
    """

    metadata: ClassVar[GymDict] = {  # pyright: ignore[reportIncompatibleVariableOverride]
        "render_modes": ["rgb_array"],
        "render_fps": 20,
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self, world: str, num_envs: int = 1, render_mode: str | None = None, **params: object
    ):
        if render_mode is not None:
            _checks.one_of("render_mode", render_mode, self.metadata["render_modes"])
        self._env, self._params = _registry.make(world, **params)
        self.render_mode = render_mode
        self.num_envs = _checks.positive_int("num_envs", num_envs)
        self.single_observation_space, self.single_action_space = _spaces(self._env)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._state: PyTree[Array] = None

    def reset(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, *, seed: int | None = None, options: GymDict | None = None
    ) -> tuple[np.ndarray, GymDict]:
        """Begin an episode in every copy."""
        super().reset(seed=seed)
        self._key = jax.random.key(int(self.np_random.integers(2**32)))
        self._key, observations, self._state = _vector_reset(
            self._env, self.num_envs, self._key, self._params
        )
        return np.asarray(observations), {}

    def step(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, actions: object
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, GymDict]:
        actions = np.asarray(actions)
        if actions.shape != (self.num_envs,) or not np.issubdtype(actions.dtype, np.integer):
            raise ValueError(
                f"actions has shape {actions.shape} and dtype {actions.dtype}: it must be "
                f"{self.num_envs} whole numbers, one per copy"
            )
        if actions.min() < 0 or actions.max() >= len(Action):
            wrong = actions[(actions < 0) | (actions >= len(Action))][0]
            raise ValueError(f"action is {wrong}: it must be 0 to {len(Action) - 1}")
        self._key, (observations, self._state, rewards, terminated, truncated, info) = _vector_step(
            self._env, self._key, self._state, actions, self._params
        )
        infos: GymDict = {name: np.asarray(x) for name, x in info.items()}
        infos |= {f"_{name}": np.ones(self.num_envs, bool) for name in info}
        final = infos.pop("final_observation")
        del infos["_final_observation"]
        terminated, truncated = np.asarray(terminated), np.asarray(truncated)
        done = terminated | truncated
        if done.any():
            infos["final_obs"] = np.full(self.num_envs, None, object)
            for copy in np.flatnonzero(done):
                infos["final_obs"][copy] = final[copy]
            infos["_final_obs"] = done
        rewards = np.asarray(rewards, np.float64)
        return np.asarray(observations), rewards, terminated, truncated, infos

    def render(self) -> tuple[np.ndarray, ...] | None:
        """A picture of every copy."""
        if self.render_mode is None:
            return None
        states = (jax.tree.map(lambda x, i=i: x[i], self._state) for i in range(self.num_envs))
        return tuple(_picture(self._env, state, self._params) for state in states)


@functools.partial(jax.jit, static_argnums=(0, 1))
def _vector_reset(
    env: AnyEnvironment, count: int, key: PRNGKeyArray, params: Params
) -> tuple[PRNGKeyArray, UInt8[Array, "copies rows cols planes"], PyTree[Array]]:
    keys = jax.random.split(key, 1 + count)
    observations, states = jax.vmap(env.reset, in_axes=(0, None))(keys[1:], params)
    return keys[0], observations, states


@functools.partial(jax.jit, static_argnums=0)
def _vector_step(
    env: AnyEnvironment,
    key: PRNGKeyArray,
    states: PyTree[Array],
    actions: Int[Array, " copies"],
    params: Params,
) -> tuple[PRNGKeyArray, tuple[Array, PyTree[Array], Array, Array, Array, dict[str, Array]]]:
    keys = jax.random.split(key, 1 + actions.shape[0])
    step = jax.vmap(AutoReset(env).step, in_axes=(0, 0, 0, None))
    return keys[0], step(keys[1:], states, actions, params)


def register() -> None:
    """Register all worlds with Gymnasium, as `World.gym_id` names them. It may be called again
    when there are more worlds."""
    for world in _registry.WORLDS.values():
        if world.gym_id not in gymnasium.registry:
            gymnasium.register(
                id=world.gym_id,
                entry_point="longpass.envs.gym:SingleWorld",
                vector_entry_point="longpass.envs.gym:VectorWorld",
                kwargs={"world": world.name},
            )


register()
