"""Any Gymnasium environment with discrete actions: acting on the host, learning as ever."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from longpass.agents._impala import Training, Update, actor, fresh, learned, prepared, training
from longpass.agents._networks import build_network
from longpass.agents._rollouts import Actors, Moment, Rollout, choose, value_of
from longpass.agents._settings import AgentSettings, Hyper
from longpass.networks import ActorCritic


def make_vector(task: str, copies: int) -> Any:
    """`copies` of a Gymnasium environment, begun anew in the step that ends an episode."""
    try:
        import gymnasium
        from gymnasium import spaces
        from gymnasium.vector import AutoresetMode
    except ImportError:
        raise ValueError("--gym needs Gymnasium: pip install 'longpass[gym]'") from None
    try:
        envs = gymnasium.make_vec(
            task,
            num_envs=copies,
            vectorization_mode="sync",
            vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP},
        )
    except (gymnasium.error.Error, ModuleNotFoundError) as error:
        raise ValueError(f"gym is {task!r}: Gymnasium cannot make it ({error})") from None
    action, seen = envs.single_action_space, envs.single_observation_space
    if not isinstance(action, spaces.Discrete):
        raise ValueError(f"gym is {task!r}, with actions {action}: they must be Discrete")
    if not isinstance(seen, spaces.Box | spaces.Discrete):
        raise ValueError(f"gym is {task!r}, with observations {seen}: must be Box or Discrete")
    return envs


class HostImpala:
    """`Impala` for a Gymnasium environment: the same state, the same learning.

    The environment lives on the host and is not part of the state, so a run that is resumed begins
    new episodes: it is not exact to the bit as runs on the three worlds are.
    """

    def __init__(self, task: str, network: dict[str, Any], settings: AgentSettings, seed: int):
        self.settings, self._network, self._seed = settings, network, seed
        self._envs = make_vector(task, settings.envs)
        space = self._envs.single_observation_space
        self._shape = one_hot(space, np.zeros((1, *space.shape), space.dtype)).shape[1:]
        self._actions = int(self._envs.single_action_space.n)

    def init(self, key: PRNGKeyArray) -> Training:
        """A training before its first update, its copies left after some random play."""
        network_key, key = jax.random.split(key)
        network = build_network(self._network, self._shape, self._actions, network_key)
        self._envs.reset(seed=self._seed)
        rng = np.random.default_rng(self._seed)
        sample = []
        for _ in range(self.settings.stagger):
            frames, *_ = self._envs.step(rng.integers(0, self._actions, self.settings.envs))
            sample.append(self._frames(frames))
        network = prepared(network, jnp.asarray(np.concatenate(sample)))
        return training(self.settings, network, self._unwatched(network, sample[-1]), key)

    def resumed(self, state: Training) -> Training:
        """A saved training, gone on with in new episodes."""
        frames, _ = self._envs.reset(seed=self._seed + int(state.updates))
        actors = self._unwatched(state.weights.network, self._frames(frames))
        return Training(state.weights, state.older, actors, state.key, state.updates)

    def run(self, state: Training, hyper: Hyper, updates: int) -> tuple[Training, Update]:
        """So many updates; what they tell has them as its first axis."""
        told = []
        for _ in range(updates):
            key, act_key = jax.random.split(state.key)
            actors, rollout = self.play(actor(state), state.actors, act_key)
            state, update = _learned(self.settings, state, rollout, hyper, actors, key)
            told.append(update)
        return state, jax.tree.map(lambda *leaves: jnp.stack(leaves), *told)

    def play(
        self, network: ActorCritic, actors: Actors, key: PRNGKeyArray
    ) -> tuple[Actors, Rollout]:
        """A rollout by this network."""
        shape = (self.settings.rollout, self.settings.envs, self._actions)
        noise = jax.random.gumbel(key, shape, jnp.float32)
        begin, moments = actors.memory, []
        for at in noise:
            xs = _embed(network, actors.frame)
            memory, action, log_prob = _choose(network, actors.memory, xs, actors.start, at)
            frames, reward, terminated, truncated, infos = self._envs.step(np.asarray(action))
            last_value = jnp.zeros(len(reward), log_prob.dtype)
            if truncated.any():
                last = np.array(frames)
                for copy in np.flatnonzero(truncated):
                    last[copy] = infos["final_obs"][copy]
                last_value = _value_of(network, memory, _embed(network, self._frames(last)))
            score = actors.score + jnp.asarray(reward, jnp.float32)
            ended = terminated | truncated
            moments.append(
                Moment(
                    xs if network.writer == "frozen" else actors.frame,
                    actors.start,
                    action,
                    log_prob,
                    jnp.asarray(reward, jnp.float32),
                    terminated,
                    truncated,
                    jnp.where(truncated, last_value, 0.0),
                    jnp.where(ended & actors.whole, score, jnp.nan),
                )
            )
            actors = Actors(
                (),
                jnp.asarray(self._frames(frames)),
                jnp.asarray(ended),
                memory,
                jnp.where(ended, 0.0, score),
                actors.whole | ended,
            )
        stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *moments)
        seen = _embed(network, actors.frame) if network.writer == "frozen" else actors.frame
        return actors, Rollout(begin, stacked, seen)

    def _unwatched(self, network: ActorCritic, frames: np.ndarray) -> Actors:
        return Actors((), jnp.asarray(frames), *fresh(network, self.settings.envs))

    def _frames(self, observations: Any) -> np.ndarray:
        return one_hot(self._envs.single_observation_space, observations)


def one_hot(space: Any, observations: Any) -> np.ndarray:
    """Observations as float32; those of a discrete space as one-hot vectors."""
    if space.shape:
        return np.asarray(observations, np.float32)
    return np.eye(int(space.n), dtype=np.float32)[np.asarray(observations)]


_embed = jax.jit(lambda network, frames: network.embed(frames))
_choose = jax.jit(choose)
_value_of = jax.jit(value_of)
_learned = functools.partial(jax.jit, static_argnums=0, donate_argnums=1)(learned)
