"""Playing with a trained network: complete episodes, greedily or as in training."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Num, PRNGKeyArray, PyTree
from scipy import stats

from longpass.agents._gymnasium import make_vector, one_hot
from longpass.agents._rollouts import choose, no_last_step
from longpass.agents._settings import RunSettings
from longpass.envs import AnyEnvironment, Params
from longpass.networks import ActorCritic

MOST_STEPS = 100_000
"""Episodes that never end are cut here."""


def episode_scores(
    run: RunSettings, network: ActorCritic, episodes: int, key: PRNGKeyArray, *, greedy: bool
) -> Float[np.ndarray, " episodes"]:
    """The returns of a number of episodes. Each copy of the environment plays exactly one.

    **Arguments:**

    - `run`: the run that the network is from.
    - `network`: the network.
    - `episodes`: how many.
    - `key`: for the environments and the actions.
    - `greedy`: take the likeliest actions instead of drawing them from the policy.
    """
    if run.is_gymnasium:
        return _gymnasium_scores(run, network, episodes, key, greedy)
    env = run.load_environment()
    return np.asarray(_scores(env, run.params, episodes, greedy, network, key))


class _Evaluation(NamedTuple):
    """The state of episodes that are played side by side."""

    time: Int[Array, ""]
    key: PRNGKeyArray
    frames: Num[Array, "episodes *observation"]
    env_states: PyTree[Array]
    memory: PyTree[Array]
    last_step: Float[Array, "episodes last"] | None
    over: Bool[Array, " episodes"]
    scores: Float[Array, " episodes"]


@functools.partial(jax.jit, static_argnums=(0, 2, 3))
def _scores(
    env: AnyEnvironment,
    params: Params,
    episodes: int,
    greedy: bool,
    network: ActorCritic,
    key: PRNGKeyArray,
) -> Float[Array, " episodes"]:
    reset_key, key = jax.random.split(key)
    reset = jax.vmap(env.reset, in_axes=(0, None))
    frames, env_states = reset(jax.random.split(reset_key, episodes), params)
    step_env = jax.vmap(env.step, in_axes=(0, 0, 0, None))

    def is_running(now: _Evaluation) -> Array:
        return (now.time < MOST_STEPS) & ~jnp.all(now.over)

    def step(now: _Evaluation) -> _Evaluation:
        key, noise_key, env_key = jax.random.split(now.key, 3)
        starts = jnp.broadcast_to(now.time == 0, (episodes,))
        memory, actions = choose_actions(
            network, now.memory, now.frames, now.last_step, starts, noise_key, greedy
        )
        frames, env_states, rewards, terminated, truncated, _ = step_env(
            jax.random.split(env_key, episodes), now.env_states, actions, params
        )
        # A step of an episode that is over pays nothing.
        return _Evaluation(
            time=now.time + 1,
            key=key,
            frames=frames,
            env_states=env_states,
            memory=memory,
            last_step=network.encode_last_step(actions, rewards, terminated | truncated),
            over=now.over | terminated | truncated,
            scores=now.scores + rewards,
        )

    begin = _Evaluation(
        time=jnp.int32(0),
        key=key,
        frames=frames,
        env_states=env_states,
        memory=network.initial_state((episodes,)),
        last_step=no_last_step(network, episodes),
        over=jnp.zeros(episodes, bool),
        scores=jnp.zeros(episodes, jnp.float32),
    )
    return jax.lax.while_loop(is_running, step, begin).scores


def choose_actions(
    network: ActorCritic,
    memory: PyTree[Array],
    frames: Num[Array, "copies *observation"],
    last_step: Float[Array, "copies last"] | None,
    starts: Bool[Array, " copies"],
    key: PRNGKeyArray,
    greedy: bool,
) -> tuple[PyTree[Array], Int[Array, " copies"]]:
    """Read one frame per copy and choose actions.

    **Returns:** (the memory's state after the frames, actions).
    """
    copies, actions = frames.shape[0], network.policy.weight.shape[0]
    noise = jnp.zeros((copies, actions), jnp.float32)
    if not greedy:
        noise = jax.random.gumbel(key, (copies, actions), jnp.float32)
    memory, chosen, _ = choose(network, memory, network.embed(frames, last_step), starts, noise)
    return memory, chosen


def _gymnasium_scores(
    run: RunSettings, network: ActorCritic, episodes: int, key: PRNGKeyArray, greedy: bool
) -> Float[np.ndarray, " episodes"]:
    envs = make_vector(run.env, episodes)
    choose_compiled = jax.jit(choose_actions, static_argnums=6)
    observations, _ = envs.reset(seed=run.seed)
    memory, last_step = network.initial_state((episodes,)), no_last_step(network, episodes)
    starts, over = np.ones(episodes, bool), np.zeros(episodes, bool)
    scores = np.zeros(episodes, np.float32)
    for time in range(MOST_STEPS):
        frames = jnp.asarray(one_hot(envs.single_observation_space, observations))
        memory, actions = choose_compiled(
            network,
            memory,
            frames,
            last_step,
            jnp.asarray(starts),
            jax.random.fold_in(key, time),
            greedy,
        )
        observations, rewards, terminated, truncated, _ = envs.step(np.asarray(actions))
        scores += np.where(over, 0.0, rewards).astype(np.float32)
        starts = terminated | truncated
        last_step = network.encode_last_step(
            actions, jnp.asarray(rewards, jnp.float32), jnp.asarray(starts)
        )
        over |= starts
        if over.all():
            break
    envs.close()
    return scores


class PolicyRollout(NamedTuple):
    """One episode of a network, step by step. What is after its end means nothing."""

    actions: Int[Array, " steps"]
    memory: PyTree[Array]
    """The memory's state after each frame was read, with time as the first axis."""


@functools.partial(jax.jit, static_argnums=(0, 5))
def rollout_policy(
    env: AnyEnvironment,
    params: Params,
    hidden: PyTree[Array],
    network: ActorCritic,
    key: PRNGKeyArray,
    steps: int,
) -> PolicyRollout:
    """Play an episode with actions drawn from the policy.

    **Arguments:**

    - `env`, `params`: the environment.
    - `hidden`: the episode's hidden draws.
    - `network`: plays.
    - `key`: for the actions.
    - `steps`: how many.
    """
    frame, env_state = env.reset(key, params, hidden)

    def step(carry: PyTree[Array], key: PRNGKeyArray) -> tuple[PyTree[Array], PolicyRollout]:
        frame, env_state, memory, last_step, start = carry
        choice_key, env_key = jax.random.split(key)
        memory, (action,) = choose_actions(
            network, memory, frame[None], last_step, start[None], choice_key, greedy=False
        )
        frame, env_state, reward, *_ = env.step(env_key, env_state, action, params)
        contents = jax.tree.map(lambda leaf: leaf[0], memory)
        over = jnp.asarray(False)
        last_step = network.encode_last_step(action[None], reward[None], over[None])
        after = (frame, env_state, memory, last_step, over)
        return after, PolicyRollout(actions=action, memory=contents)

    memory, last_step = network.initial_state((1,)), no_last_step(network, 1)
    begin = (frame, env_state, memory, last_step, jnp.asarray(True))
    return jax.lax.scan(step, begin, jax.random.split(key, steps))[1]


def bootstrap_interval(
    scores: Float[np.ndarray, " episodes"], seed: int = 0
) -> tuple[float, float]:
    """A 95 % bootstrap interval of the mean (percentile method)."""
    if np.ptp(scores) == 0:
        return float(scores[0]), float(scores[0])
    result = stats.bootstrap(
        (scores,), np.mean, n_resamples=2000, method="percentile", rng=np.random.default_rng(seed)
    )
    low, high = result.confidence_interval
    return float(low), float(high)
