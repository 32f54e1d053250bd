"""Watching a trained network play: whole episodes, greedily or as it was trained."""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from longpass.agents._config import Config
from longpass.agents._gymnasium import make_vector, one_hot
from longpass.agents._rollouts import choose
from longpass.envs import AnyEnvironment
from longpass.networks import ActorCritic

MOST_STEPS = 100_000
"""Episodes that never end are cut here."""


def episode_scores(
    config: Config, network: ActorCritic, episodes: int, key: PRNGKeyArray, *, greedy: bool
) -> np.ndarray:
    """Returns of so many episodes. Each copy plays exactly one, so that long ones count alike."""
    if config.gym:
        return _host_scores(config, network, episodes, key, greedy)
    env, params = config.world()
    return np.asarray(_scores(env, params, episodes, greedy, network, key))


@functools.partial(jax.jit, static_argnums=(0, 2, 3))
def _scores(
    env: AnyEnvironment,
    params: Any,
    episodes: int,
    greedy: bool,
    network: ActorCritic,
    key: PRNGKeyArray,
) -> Float[Array, " episodes"]:
    reset_key, key = jax.random.split(key)
    reset = jax.vmap(env.reset, in_axes=(0, None))
    frames, states = reset(jax.random.split(reset_key, episodes), params)

    def going(carry: Any) -> Array:
        return (carry[0] < MOST_STEPS) & ~jnp.all(carry[5])

    def step(carry: Any) -> Any:
        time, key, frames, states, memory, over, scores = carry
        key, noise_key, env_key = jax.random.split(key, 3)
        memory, actions = decide(
            network, memory, frames, jnp.broadcast_to(time == 0, (episodes,)), noise_key, greedy
        )
        frames, states, rewards, terminated, truncated, _ = jax.vmap(
            env.step, in_axes=(0, 0, 0, None)
        )(jax.random.split(env_key, episodes), states, actions, params)
        # A step of an episode that is over pays nothing.
        return (
            time + 1,
            key,
            frames,
            states,
            memory,
            over | terminated | truncated,
            scores + rewards,
        )

    begin = (
        jnp.int32(0),
        key,
        frames,
        states,
        _empty(network, episodes),
        jnp.zeros(episodes, bool),
        jnp.zeros(episodes, jnp.float32),
    )
    return jax.lax.while_loop(going, step, begin)[6]


def decide(
    network: ActorCritic,
    memory: PyTree[Array],
    frames: Array,
    starts: Array,
    key: PRNGKeyArray,
    greedy: bool,
) -> tuple[PyTree[Array], Int[Array, " copies"]]:
    """(Memory after these frames, actions): the likeliest ones, or drawn."""
    copies, actions = frames.shape[0], network.policy.weight.shape[0]
    noise = jnp.zeros((copies, actions), jnp.float32)
    if not greedy:
        noise = jax.random.gumbel(key, (copies, actions), jnp.float32)
    memory, chosen, _ = choose(network, memory, network.embed(frames), starts, noise)
    return memory, chosen


def _empty(network: ActorCritic, copies: int) -> PyTree[Array]:
    return jax.tree.map(
        lambda leaf: jnp.broadcast_to(leaf, (copies, *leaf.shape)), network.initial_state()
    )


def _host_scores(
    config: Config, network: ActorCritic, episodes: int, key: PRNGKeyArray, greedy: bool
) -> np.ndarray:
    envs = make_vector(config.task, episodes)
    decide_jit = jax.jit(decide, static_argnums=5)
    observations, _ = envs.reset(seed=config.seed)
    memory = _empty(network, episodes)
    starts, over = np.ones(episodes, bool), np.zeros(episodes, bool)
    scores = np.zeros(episodes, np.float32)
    for time in range(MOST_STEPS):
        frames = one_hot(envs.single_observation_space, observations)
        memory, actions = decide_jit(
            network, memory, frames, starts, jax.random.fold_in(key, time), greedy
        )
        observations, rewards, terminated, truncated, _ = envs.step(np.asarray(actions))
        scores += np.where(over, 0.0, rewards).astype(np.float32)
        starts = terminated | truncated
        over |= starts
        if over.all():
            break
    envs.close()
    return scores


class Watched(NamedTuple):
    """One episode of a network, step by step; what is beyond its end means nothing."""

    actions: Int[Array, " steps"]
    memory: PyTree[Array]
    """The memory after each frame was read, with time as its first axis."""


@functools.partial(jax.jit, static_argnums=(0, 5))
def watch(
    env: AnyEnvironment,
    params: Any,
    hidden: Any,
    network: ActorCritic,
    key: PRNGKeyArray,
    steps: int,
) -> Watched:
    """So many steps of an episode with these hidden draws, its actions drawn from the policy."""
    frame, state = env.reset(key, params, hidden)

    def step(carry: Any, key: PRNGKeyArray) -> tuple[Any, Any]:
        frame, state, memory, start = carry
        choice_key, env_key = jax.random.split(key)
        memory, (action,) = decide(
            network, memory, frame[None], start[None], choice_key, greedy=False
        )
        frame, state, *_ = env.step(env_key, state, action, params)
        contents = jax.tree.map(lambda leaf: leaf[0], memory)
        return (frame, state, memory, jnp.asarray(False)), Watched(action, contents)

    begin = (frame, state, _empty(network, 1), jnp.asarray(True))
    return jax.lax.scan(step, begin, jax.random.split(key, steps))[1]


def interval(scores: np.ndarray, seed: int = 0) -> tuple[float, float]:
    """A 95 % bootstrap interval of the mean."""
    rng = np.random.default_rng(seed)
    draws = rng.integers(0, len(scores), (2000, len(scores)))
    low, high = np.percentile(scores[draws].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)
