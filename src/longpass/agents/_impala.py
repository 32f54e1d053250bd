"""Acting and learning as one program: training as a pure function of state and hyper-parameters."""

import dataclasses
import functools
from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from longpass.agents._frame_table import FrameTable
from longpass.agents._hyper import decay_hyper
from longpass.agents._loss import Metrics, Weights, init_weights, learn
from longpass.agents._networks import init_embedding
from longpass.agents._rollouts import Actors, Rollout, act, fresh_actors, random_play
from longpass.agents._settings import HyperParams, LearnerSettings
from longpass.envs import AnyEnvironment, Params
from longpass.networks import ActorCritic


class TrainState(eqx.Module):
    """Everything that changes in training, between two updates. It has only arrays as leaves."""

    weights: Weights
    older: PyTree[Array]
    """The networks of the last `lag` updates, oldest first; None without lag."""
    actors: Actors
    key: PRNGKeyArray
    updates: Int[Array, ""]


class ActorStatistics(NamedTuple):
    """How the actors of a Ray cluster are doing."""

    lag: np.ndarray
    """Updates between the weights that acted and those that learn."""
    lag_most: np.ndarray
    """The largest lag in this call."""
    actors: np.ndarray
    """How many actors there are."""
    lost: np.ndarray
    """How many actors were lost and replaced so far."""


class UpdateResult(NamedTuple):
    """What one update measured; of several updates, with these as the first axis."""

    metrics: Metrics
    scores: Float[Array, "*updates rollout envs"] | Float[np.ndarray, "*updates rollout envs"]
    """Where a complete episode ended: its return. Elsewhere NaN."""
    actors: ActorStatistics | None = None
    """None if acting and learning are one program."""


@dataclasses.dataclass(frozen=True)
class Impala:
    """An actor-critic that learns with V-trace from many copies of one environment.

    `init` and `update` are pure functions: seeds and populations are `jax.vmap` over keys,
    hyper-parameters and states. `start` and `train_steps` are compiled; learners that are equal
    share their compiled programs.

    **Arguments:**

    - `env`: the environment.
    - `params`: its parameters.
    - `build`: makes the network from a key, such as `NetworkBuilder` or a function of yours.
    - `settings`: how it acts and learns.

    >>> from longpass.agents import make_trainer, resolve_settings
    >>> learner = make_trainer(resolve_settings("t-maze", overrides={"pool_size": 16}))
    >>> isinstance(learner, Impala), learner.settings.envs
    (True, 8)
    """

    env: AnyEnvironment
    params: Params
    build: Callable[[PRNGKeyArray], ActorCritic]
    settings: LearnerSettings

    def init(self, key: PRNGKeyArray) -> TrainState:
        """The state before the first update."""
        settings = self.settings
        network_key, play_key, key = jax.random.split(key, 3)
        env_state, observation, sample = random_play(
            self.env, self.params, settings.envs, settings.stagger, play_key
        )
        network = init_embedding(self.build(network_key), sample)
        return init_training(settings, network, fresh_actors(env_state, observation, network), key)

    def update(self, state: TrainState, hyper: HyperParams) -> tuple[TrainState, UpdateResult]:
        """Play a rollout and learn from it.

        **Arguments:**

        - `state`: from `init` or an earlier update.
        - `hyper`: hyper-parameters as arrays, see `hyper_arrays`.

        **Returns:** (the next state, what was measured).
        """
        state, result, _ = _update(self, state, hyper, None)
        return state, result

    def start(self, key: PRNGKeyArray) -> TrainState:
        """`init`, compiled."""
        return _start(self, key)

    def restore(self, state: TrainState) -> TrainState:
        """Prepare a loaded state for further training (nothing to do)."""
        return state

    def state_shapes(self) -> TrainState:
        """The shapes and dtypes of a state. Nothing is compiled or played."""
        return jax.eval_shape(self.init, jax.eval_shape(lambda: jax.random.key(0)))

    def train_steps(
        self, state: TrainState, hyper: HyperParams, updates: int
    ) -> tuple[TrainState, UpdateResult]:
        """Make several updates in one compiled call.

        `state` is donated: it cannot be used afterwards, its memory serves the state returned.

        **Arguments:**

        - `state`: from `start` or an earlier call.
        - `hyper`: hyper-parameters as arrays, see `hyper_arrays`.
        - `updates`: how many.

        **Returns:** (the next state, what was measured, updates first).
        """
        return _train_steps(self, state, hyper, updates)

    def make_rollout(
        self, network: ActorCritic, actors: Actors, key: PRNGKeyArray
    ) -> tuple[Actors, Rollout]:
        """Play a rollout with this network, compiled; another process learns from it."""
        return _make_rollout(self, network, actors, key)


def _update(
    learner: Impala, state: TrainState, hyper: HyperParams, table: FrameTable | None
) -> tuple[TrainState, UpdateResult, FrameTable | None]:
    key, act_key = jax.random.split(state.key)
    network = acting_network(state)
    actors, rollout, table = act(
        learner.env,
        learner.params,
        network,
        state.actors,
        learner.settings.rollout,
        act_key,
        None if table is None else table.for_rollout(network),
    )
    state, result = apply_rollout(learner.settings, state, rollout, hyper, actors, key)
    return state, result, table


@functools.partial(jax.jit, static_argnums=0)
def _start(learner: Impala, key: PRNGKeyArray) -> TrainState:
    return learner.init(key)


@functools.partial(jax.jit, static_argnums=(0, 3), donate_argnums=1)
def _train_steps(
    learner: Impala, state: TrainState, hyper: HyperParams, updates: int
) -> tuple[TrainState, UpdateResult]:
    # The table lasts for one call, so that it need not be in checkpoints.
    table = FrameTable.for_frames(acting_network(state), state.actors.observation)

    def update(
        carry: tuple[TrainState, FrameTable | None], _: None
    ) -> tuple[tuple[TrainState, FrameTable | None], UpdateResult]:
        state, result, table = _update(learner, carry[0], hyper, carry[1])
        return (state, table), result

    (state, _), results = jax.lax.scan(update, (state, table), length=updates)
    return state, results


@functools.partial(jax.jit, static_argnums=0)
def _make_rollout(
    learner: Impala, network: ActorCritic, actors: Actors, key: PRNGKeyArray
) -> tuple[Actors, Rollout]:
    actors, rollout, _ = act(
        learner.env, learner.params, network, actors, learner.settings.rollout, key
    )
    return actors, rollout


def init_training(
    settings: LearnerSettings, network: ActorCritic, actors: Actors, key: PRNGKeyArray
) -> TrainState:
    """The state of a training of this network, before its first update."""
    older = None
    if settings.lag:
        older = jax.tree.map(
            lambda leaf: jnp.broadcast_to(leaf, (settings.lag, *leaf.shape)), network
        )
    return TrainState(
        weights=init_weights(network, settings),
        older=older,
        actors=actors,
        key=key,
        updates=jnp.int32(0),
    )


def acting_network(state: TrainState) -> ActorCritic:
    """The network that acts in the next update."""
    if state.older is None:
        return state.weights.network
    return jax.tree.map(lambda leaf: leaf[0], state.older)


def apply_rollout(
    settings: LearnerSettings,
    state: TrainState,
    rollout: Rollout,
    hyper: HyperParams,
    actors: Actors,
    key: PRNGKeyArray,
) -> tuple[TrainState, UpdateResult]:
    """Learn from a rollout.

    **Arguments:**

    - `settings`: of the learner.
    - `state`: before the update.
    - `rollout`: what was played with `acting_network(state)`.
    - `hyper`: hyper-parameters as arrays.
    - `actors`, `key`: those of the next state.

    **Returns:** (the next state, what was measured).
    """
    older = state.older
    if older is not None:
        older = jax.tree.map(
            lambda old, new: jnp.concatenate([old[1:], new[None]]), older, state.weights.network
        )
    now = decay_hyper(hyper, state.updates * jnp.float32(settings.steps))
    weights, metrics = learn(settings, state.weights, rollout, now)
    after = TrainState(
        weights=weights, older=older, actors=actors, key=key, updates=state.updates + 1
    )
    return after, UpdateResult(metrics=metrics, scores=rollout.transitions.score)
