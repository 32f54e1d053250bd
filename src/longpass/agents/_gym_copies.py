"""Copies of a Gymnasium environment, in one form: discrete actions from 0, frames of float32.

Observations that are not arrays are flattened: a Dict or Tuple into its parts, a Discrete into a
one-hot vector, whatever number it starts from. What the environment raises is one kind of error.
"""

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from longpass._json import JsonObject


class GymStep(NamedTuple):
    """What a step gives, copies first."""

    frames: np.ndarray
    """What is seen now; in copies whose episode ended, the first frame of the next one."""
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    last_frames: np.ndarray
    """The same, but the last frame of the old episode in copies that were truncated."""


class GymCopies:
    """Copies of a Gymnasium environment. The step that ends an episode starts the next one.

    **Arguments:**

    - `env`: the id of the environment.
    - `options`: keyword arguments for `gymnasium.make`.
    - `copies`: how many.
    """

    def __init__(self, env: str, options: JsonObject, copies: int):
        try:
            import gymnasium
            from gymnasium import spaces
            from gymnasium.vector import AutoresetMode
        except ImportError:
            raise ValueError("--gym needs Gymnasium: pip install 'longpass[gym]'") from None
        self._name = env
        with self._errors_named("Gymnasium cannot make it"):
            self._envs = gymnasium.make_vec(
                env,
                num_envs=copies,
                vectorization_mode="sync",
                vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP},
                wrappers=[_flatten_observations],
                **options,
            )
        action = self._envs.single_action_space
        if not isinstance(action, spaces.Discrete):
            raise ValueError(f"gym is {env!r}, with actions {action}: they must be Discrete")
        self.num_actions, self._first_action = int(action.n), int(action.start)
        self.frame_shape = tuple(self._envs.single_observation_space.shape or ())

    def reset(self, seed: int) -> np.ndarray:
        """Begin new episodes; their first frames."""
        with self._errors_named("it failed to reset"):
            frames, _ = self._envs.reset(seed=seed)
        return np.asarray(frames, np.float32)

    def step(self, actions: np.ndarray) -> GymStep:
        """Take a step in every copy. Actions are counted from 0."""
        with self._errors_named("it failed in a step"):
            frames, reward, terminated, truncated, infos = self._envs.step(
                actions + self._first_action
            )
        frames = np.asarray(frames, np.float32)
        last = frames
        if truncated.any():
            last = frames.copy()
            for copy in np.flatnonzero(truncated):
                last[copy] = infos["final_obs"][copy]
        return GymStep(frames, np.asarray(reward, np.float32), terminated, truncated, last)

    def close(self) -> None:
        """Close all copies."""
        self._envs.close()

    @contextlib.contextmanager
    def _errors_named(self, what: str) -> Iterator[None]:
        """Whatever is raised inside is the environment's: say so."""
        try:
            yield
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise ValueError(f"gym is {self._name!r}: {what} ({reason})") from error


def _flatten_observations(env: Any) -> Any:
    """The environment with observations that are arrays of at least one axis."""
    from gymnasium import spaces
    from gymnasium.wrappers import TransformObservation

    space = _known_parts(env.observation_space)
    if isinstance(space, spaces.Box) and space.shape:
        return env
    if space is None:
        raise ValueError(f"observations are {env.observation_space}, which are no numbers")
    shape = spaces.flatten_space(space).shape
    # Parts of a Dict that are left out are not looked up.
    return TransformObservation(
        env,
        lambda seen: np.asarray(spaces.flatten(space, seen), np.float32),
        spaces.Box(-np.inf, np.inf, shape, np.float32),
    )


def _known_parts(space: Any) -> Any:
    """The space without what is no number, such as MiniGrid's mission; None if nothing is left."""
    from gymnasium import spaces

    if isinstance(space, spaces.Dict):
        known = {name: _known_parts(part) for name, part in space.spaces.items()}
        known = {name: part for name, part in known.items() if part is not None}
        if known == space.spaces:
            return space
        return spaces.Dict(known) if known else None
    if isinstance(space, spaces.Tuple):
        return space if all(_known_parts(part) is part for part in space.spaces) else None
    numbers = (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)
    return space if isinstance(space, numbers) else None
