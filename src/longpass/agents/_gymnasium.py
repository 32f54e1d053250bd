"""Any Gymnasium environment with discrete actions: acting on the host, learning compiled."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from longpass.agents._impala import (
    TrainState,
    UpdateResult,
    acting_network,
    apply_rollout,
    init_training,
)
from longpass.agents._networks import NetworkBuilder, init_embedding, to_inputs
from longpass.agents._rollouts import Actors, Rollout, Transition, choose, fresh_actors, value_after
from longpass.agents._settings import HyperParams, LearnerSettings, NetworkSettings
from longpass.networks import ActorCritic


def make_vector(env: str, copies: int) -> Any:
    """`copies` of a Gymnasium environment. The step that ends an episode starts the next one."""
    try:
        import gymnasium
        from gymnasium import spaces
        from gymnasium.vector import AutoresetMode
    except ImportError:
        raise ValueError("--gym needs Gymnasium: pip install 'longpass[gym]'") from None
    try:
        envs = gymnasium.make_vec(
            env,
            num_envs=copies,
            vectorization_mode="sync",
            vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP},
        )
    except (gymnasium.error.Error, ModuleNotFoundError) as error:
        raise ValueError(f"gym is {env!r}: Gymnasium cannot make it ({error})") from None
    action, seen = envs.single_action_space, envs.single_observation_space
    if not isinstance(action, spaces.Discrete):
        raise ValueError(f"gym is {env!r}, with actions {action}: they must be Discrete")
    if not isinstance(seen, spaces.Box | spaces.Discrete):
        raise ValueError(f"gym is {env!r}, with observations {seen}: must be Box or Discrete")
    return envs


class GymnasiumImpala:
    """`Impala` for a Gymnasium environment: the same state, the same learning.

    The environment runs on the host and is not part of the state, so a resumed run begins new
    episodes: unlike runs on our worlds, it is not equal to the bit to one that was not stopped.

    **Arguments:**

    - `env`: the id of the environment.
    - `network`: the network's settings.
    - `settings`: how it acts and learns.
    - `seed`: of the environments.
    """

    def __init__(self, env: str, network: NetworkSettings, settings: LearnerSettings, seed: int):
        self.settings, self._seed = settings, seed
        self._envs = make_vector(env, settings.envs)
        space = self._envs.single_observation_space
        self._shape = one_hot(space, np.zeros((1, *space.shape), space.dtype)).shape[1:]
        self._actions = int(self._envs.single_action_space.n)
        self._build = NetworkBuilder(network, self._shape, self._actions)

    def start(self, key: PRNGKeyArray) -> TrainState:
        """The state before the first update, after some random play."""
        self._envs.reset(seed=self._seed)
        rng = np.random.default_rng(self._seed)
        sample = []
        for _ in range(self.settings.stagger):
            frames, *_ = self._envs.step(rng.integers(0, self._actions, self.settings.envs))
            sample.append(self._to_frames(frames))
        return self._init(key, jnp.asarray(np.concatenate(sample)), jnp.asarray(sample[-1]))

    def restore(self, state: TrainState) -> TrainState:
        """Prepare a loaded state for further training: new episodes begin."""
        frames, _ = self._envs.reset(seed=self._seed + int(state.updates))
        frames = jnp.asarray(self._to_frames(frames))
        return TrainState(
            weights=state.weights,
            older=state.older,
            actors=fresh_actors((), frames, state.weights.network),
            key=state.key,
            updates=state.updates,
        )

    def state_shapes(self) -> TrainState:
        """The shapes and dtypes of a state. Nothing is compiled or played."""
        envs, stagger = self.settings.envs, self.settings.stagger
        return jax.eval_shape(
            self._init,
            jax.eval_shape(lambda: jax.random.key(0)),
            jax.ShapeDtypeStruct((stagger * envs, *self._shape), jnp.float32),
            jax.ShapeDtypeStruct((envs, *self._shape), jnp.float32),
        )

    def train_steps(
        self, state: TrainState, hyper: HyperParams, updates: int
    ) -> tuple[TrainState, UpdateResult]:
        """Make several updates. Learning donates `state`: it cannot be used afterwards.

        **Returns:** (the next state, what was measured, updates first).
        """
        results = []
        for _ in range(updates):
            key, act_key = jax.random.split(state.key)
            actors, rollout = self.make_rollout(acting_network(state), state.actors, act_key)
            state, result = _apply_rollout(self.settings, state, rollout, hyper, actors, key)
            results.append(result)
        return state, jax.tree.map(lambda *leaves: jnp.stack(leaves), *results)

    def make_rollout(
        self, network: ActorCritic, actors: Actors, key: PRNGKeyArray
    ) -> tuple[Actors, Rollout]:
        """Play a rollout with this network."""
        shape = (self.settings.rollout, self.settings.envs, self._actions)
        noise = jax.random.gumbel(key, shape, jnp.float32)
        begin, transitions = actors.memory, []
        for at in noise:
            xs = _embed(network, actors.observation, actors.last_step)
            memory, action, log_prob = _choose(network, actors.memory, xs, actors.start, at)
            frames, reward, terminated, truncated, infos = self._envs.step(np.asarray(action))
            reward = jnp.asarray(reward, jnp.float32)
            last_value = jnp.zeros(len(reward), log_prob.dtype)
            if truncated.any():
                last = np.array(frames)
                for copy in np.flatnonzero(truncated):
                    last[copy] = infos["final_obs"][copy]
                last_value = _value_after(network, memory, self._to_frames(last), action, reward)
            score, ended = actors.score + reward, jnp.asarray(terminated | truncated)
            transitions.append(
                Transition(
                    inputs=to_inputs(network, actors.observation, actors.last_step, xs),
                    start=actors.start,
                    action=action,
                    log_prob=log_prob,
                    reward=reward,
                    terminated=jnp.asarray(terminated),
                    truncated=jnp.asarray(truncated),
                    last_value=jnp.where(truncated, last_value, 0.0),
                    score=jnp.where(ended & actors.complete, score, jnp.nan),
                )
            )
            actors = Actors(
                env_state=(),
                observation=jnp.asarray(self._to_frames(frames)),
                start=ended,
                memory=memory,
                score=jnp.where(ended, 0.0, score),
                last_step=network.encode_last_step(action, reward, ended),
                complete=actors.complete | ended,
            )
        rollout = Rollout(
            memory=begin,
            transitions=jax.tree.map(lambda *leaves: jnp.stack(leaves), *transitions),
            next_inputs=_to_inputs(network, actors.observation, actors.last_step),
        )
        return actors, rollout

    def _init(self, key: PRNGKeyArray, sample: Array, frames: Array) -> TrainState:
        """The state before the first update, given a sample of frames and the present ones."""
        network_key, key = jax.random.split(key)
        network = init_embedding(self._build(network_key), sample)
        return init_training(self.settings, network, fresh_actors((), frames, network), key)

    def _to_frames(self, observations: object) -> np.ndarray:
        return one_hot(self._envs.single_observation_space, observations)


def one_hot(space: Any, observations: object) -> np.ndarray:
    """Observations as float32; those of a discrete space as one-hot vectors."""
    if space.shape:
        return np.asarray(observations, np.float32)
    return np.eye(int(space.n), dtype=np.float32)[np.asarray(observations)]


_embed = jax.jit(lambda network, frames, last_step: network.embed(frames, last_step))
_to_inputs = jax.jit(to_inputs)
_choose = jax.jit(choose)
_value_after = jax.jit(value_after)
_apply_rollout = functools.partial(jax.jit, static_argnums=0, donate_argnums=1)(apply_rollout)
