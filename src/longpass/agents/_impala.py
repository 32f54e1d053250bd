"""Acting and learning as one program: training as a pure function of state and hyper-parameters."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from longpass.agents._loss import Metrics, Weights, begin, learn
from longpass.agents._rollouts import Actors, Rollout, act, random_play
from longpass.agents._settings import AgentSettings, Hyper
from longpass.envs import AnyEnvironment
from longpass.networks import ActorCritic


class Training(eqx.Module):
    """All of a training between two updates: arrays alone, so that it can be saved and mapped."""

    weights: Weights
    older: PyTree[Array]
    """Networks of the last `lag` updates, oldest first; None without lag."""
    actors: Actors
    key: PRNGKeyArray
    updates: Int[Array, ""]


class Update(NamedTuple):
    """What one update tells."""

    metrics: Metrics
    scores: Float[Array, "rollout envs"]
    """Where a whole episode ended: its return. Elsewhere NaN."""


class Impala:
    """An actor-critic that learns with V-trace from many copies of one environment.

    `init` and `update` are pure functions, so that seeds and populations are `jax.vmap` over keys,
    hyper-parameters and trainings. `run` is several updates in one compiled call.

    **Arguments:** `env` and its `params`; `build`, which makes a network from a key; `settings`.
    """

    def __init__(
        self,
        env: AnyEnvironment,
        params: Any,
        build: Callable[[PRNGKeyArray], ActorCritic],
        settings: AgentSettings,
    ):
        self.env, self.params, self.build, self.settings = env, params, build, settings

    @functools.partial(jax.jit, static_argnums=0)
    def init(self, key: PRNGKeyArray) -> Training:
        """A training before its first update."""
        settings = self.settings
        network_key, play_key, key = jax.random.split(key, 3)
        states, frame, sample = random_play(
            self.env, self.params, settings.envs, settings.stagger, play_key
        )
        network = prepared(self.build(network_key), sample)
        actors = Actors(states, frame, *fresh(network, settings.envs))
        return training(settings, network, actors, key)

    def update(self, state: Training, hyper: Hyper) -> tuple[Training, Update]:
        """Play a rollout and learn from it."""
        key, act_key = jax.random.split(state.key)
        actors, rollout = act(
            self.env, self.params, actor(state), state.actors, self.settings.rollout, act_key
        )
        return learned(self.settings, state, rollout, hyper, actors, key)

    @functools.partial(jax.jit, static_argnums=0)
    def play(
        self, network: ActorCritic, actors: Actors, key: PRNGKeyArray
    ) -> tuple[Actors, Rollout]:
        """A rollout by this network, to be learned from elsewhere."""
        return act(self.env, self.params, network, actors, self.settings.rollout, key)

    def resumed(self, state: Training) -> Training:
        """A saved training, to be gone on with: it is all there."""
        return state

    @functools.partial(jax.jit, static_argnums=(0, 3), donate_argnums=1)
    def run(self, state: Training, hyper: Hyper, updates: int) -> tuple[Training, Update]:
        """So many updates at once; what they tell has them as its first axis. `state` is used up:
        its memory serves the state that is returned."""
        return jax.lax.scan(lambda state, _: self.update(state, hyper), state, length=updates)


def prepared(network: ActorCritic, sample: Array) -> ActorCritic:
    """The network with the embedding that its mark asks for, given a sample of frames."""
    if network.embedding == "plain":
        return network
    centred = network.embedding == "centred"
    torso = network.torso.sparse(sample, network.threshold, centred)
    return eqx.tree_at(lambda net: net.torso, network, torso)


def fresh(network: ActorCritic, envs: int) -> tuple[Any, ...]:
    """(Start, memory, score, whole) of copies that nobody has watched yet."""
    empty = jax.tree.map(
        lambda leaf: jnp.broadcast_to(leaf, (envs, *leaf.shape)), network.initial_state()
    )
    return jnp.ones(envs, bool), empty, jnp.zeros(envs, jnp.float32), jnp.zeros(envs, bool)


def training(
    settings: AgentSettings, network: ActorCritic, actors: Actors, key: PRNGKeyArray
) -> Training:
    """A training of this network, before its first update."""
    older = None
    if settings.lag:
        older = jax.tree.map(
            lambda leaf: jnp.broadcast_to(leaf, (settings.lag, *leaf.shape)), network
        )
    return Training(begin(network, settings), older, actors, key, jnp.int32(0))


def actor(state: Training) -> ActorCritic:
    """The network that acts in the next update."""
    if state.older is None:
        return state.weights.network
    return jax.tree.map(lambda leaf: leaf[0], state.older)


def learned(
    settings: AgentSettings, state: Training, rollout: Any, hyper: Hyper, actors: Actors, key: Any
) -> tuple[Training, Update]:
    """The training after it has learned from this rollout."""
    older = state.older
    if older is not None:
        older = jax.tree.map(
            lambda old, new: jnp.concatenate([old[1:], new[None]]), older, state.weights.network
        )
    now = hyper.after(state.updates * jnp.float32(settings.steps))
    weights, metrics = learn(settings, state.weights, rollout, now)
    after = Training(weights, older, actors, key, state.updates + 1)
    return after, Update(metrics, rollout.moments.score)
