"""Any Gymnasium environment with discrete actions: acting on the host, learning compiled."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from longpass._json import JsonObject
from longpass.agents._gym_copies import GymCopies
from longpass.agents._impala import (
    TrainState,
    UpdateResult,
    acting_network,
    apply_rollout,
    init_training,
)
from longpass.agents._networks import NetworkBuilder, init_embedding, to_inputs
from longpass.agents._rollouts import (
    SAMPLES,
    Actors,
    Outcome,
    Rollout,
    choose,
    finish_step,
    fresh_actors,
    value_after,
)
from longpass.agents._settings import HyperParams, LearnerSettings, NetworkSettings
from longpass.networks import ActorCritic


class GymnasiumImpala:
    """`Impala` for a Gymnasium environment: the same state, the same learning.

    The environment runs on the host and is not part of the state, so a resumed run begins new
    episodes: unlike runs on our worlds, it is not equal to the bit to one that was not stopped.

    **Arguments:**

    - `env`: the id of the environment.
    - `options`: keyword arguments for `gymnasium.make`.
    - `network`: the network's settings.
    - `settings`: how it acts and learns.
    - `seed`: of the environments.
    """

    def __init__(
        self,
        env: str,
        options: JsonObject,
        network: NetworkSettings,
        settings: LearnerSettings,
        seed: int,
    ):
        self.settings, self._seed = settings, seed
        self._needs_sample = network.embedding != "plain"
        self._envs = GymCopies(env, options, settings.envs)
        self._shape, self._actions = self._envs.frame_shape, self._envs.num_actions
        self._build = NetworkBuilder(network, self._shape, self._actions)

    def start(self, key: PRNGKeyArray) -> TrainState:
        """The state before the first update, after some random play."""
        sample, frames = self._play_at_random()
        return self._init(key, jnp.asarray(sample), jnp.asarray(frames))

    def _play_at_random(self) -> tuple[np.ndarray, np.ndarray]:
        """Play `stagger` steps at random.

        **Returns:** (frames of all copies, sampled evenly over time; the last frames). A plain
        embedding needs no sample: it is the last frames then.
        """
        frames = self._envs.reset(self._seed)
        rng = np.random.default_rng(self._seed)
        stagger, sample = self.settings.stagger, []
        between = -(-stagger // SAMPLES)
        for time in range(1, stagger + 1):
            actions = rng.integers(0, self._actions, self.settings.envs)
            frames = self._envs.step(actions).frames
            if self._needs_sample and time % between == 0:
                sample.append(frames)
        return np.concatenate(sample or [frames]), frames

    def restore(self, state: TrainState) -> TrainState:
        """Prepare a loaded state for further training: new episodes begin."""
        frames = jnp.asarray(self._envs.reset(self._seed + int(state.updates)))
        return TrainState(
            weights=state.weights,
            older=state.older,
            actors=fresh_actors((), frames, state.weights.network),
            key=state.key,
            updates=state.updates,
        )

    def state_shapes(self) -> TrainState:
        """The shapes and dtypes of a state. Nothing is compiled or played."""
        frames = jax.ShapeDtypeStruct((self.settings.envs, *self._shape), jnp.float32)
        key = jax.eval_shape(lambda: jax.random.key(0))
        return jax.eval_shape(self._init, key, frames, frames)

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
            step = self._envs.step(np.asarray(action))
            reward = jnp.asarray(step.reward)
            last_value = jnp.zeros(len(reward), log_prob.dtype)
            if step.truncated.any():
                last_value = _value_after(network, memory, step.last_frames, action, reward)
            outcome = Outcome(
                env_state=(),
                observation=jnp.asarray(step.frames),
                reward=reward,
                terminated=jnp.asarray(step.terminated),
                truncated=jnp.asarray(step.truncated),
                last_value=last_value,
            )
            chosen = memory, action, log_prob
            actors, transition = finish_step(network, actors, xs, chosen, outcome)
            transitions.append(transition)
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


_embed = jax.jit(lambda network, frames, last_step: network.embed(frames, last_step))
_to_inputs = jax.jit(to_inputs)
_choose = jax.jit(choose)
_value_after = jax.jit(value_after)
_apply_rollout = functools.partial(jax.jit, static_argnums=0, donate_argnums=1)(apply_rollout)
