"""Playing with a trained network: complete episodes, greedily or as in training."""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy
from jaxtyping import Array, Bool, Float, Int, Num, PRNGKeyArray, PyTree

from longpass import _checks
from longpass.agents._gym_copies import GymCopies
from longpass.agents._rollouts import choose, no_last_step, value_of
from longpass.agents._settings import RunSettings
from longpass.envs import AnyEnvironment, Params
from longpass.networks import ActorCritic

MOST_STEPS = 100_000
"""Episodes that never end are cut here."""
MOST_EPISODES = 10**6
"""The largest number of episodes that can be asked for."""
_BATCH = 256  # episodes that are played side by side: memory does not grow with their number
_GYM_SEEDS = 2**30  # seeds that an environment of Gymnasium may get; its copies get the next ones
_RESAMPLED = 10**7  # numbers that the bootstrap holds at a time


def episode_scores(
    run: RunSettings,
    network: ActorCritic,
    episodes: int,
    key: PRNGKeyArray,
    *,
    greedy: bool,
    on_progress: Callable[[int], None] = lambda _: None,
) -> Float[np.ndarray, " episodes"]:
    """The returns of a number of episodes, which are played side by side, at most 256 at a time.

    **Arguments:**

    - `run`: the run that the network is from.
    - `network`: the network.
    - `episodes`: how many.
    - `key`: for the environments and the actions.
    - `greedy`: take the likeliest actions instead of drawing them from the policy.
    - `on_progress`: called with the number of episodes that were played, again and again.

    **Returns:**

    The returns, of shape `(episodes,)`.
    """
    _checks.int_within("episodes", episodes, 1, MOST_EPISODES)
    batch = min(episodes, _BATCH)
    scores: list[np.ndarray] = []
    for number, played in enumerate(range(0, episodes, batch)):
        batch_key = jax.random.fold_in(key, number) if number else key
        if run.is_gymnasium:
            scores.append(_gymnasium_scores(run, network, batch, batch_key, greedy))
        else:
            env = run.load_environment()
            found = _scores(env, run.params, batch, greedy, network, batch_key)
            scores.append(np.asarray(found))
        on_progress(min(episodes, played + batch))
    # The last batch is as large as the others, so that its program is not compiled anew.
    return np.concatenate(scores)[:episodes]


def measure_returns(
    run: RunSettings,
    network: ActorCritic,
    episodes: int,
    seed: int,
    on_progress: Callable[[str, int], None] = lambda *_: None,
) -> dict[str, dict[str, float | None]]:
    """Returns of complete episodes, played greedily and with actions drawn as in training.

    **Arguments:**

    - `run`: the run that the network is from.
    - `network`: the network.
    - `episodes`: how many of each kind.
    - `seed`: of the environments and the actions.
    - `on_progress`: called with the kind and the number of its episodes that were played.

    **Returns:** for `greedy` and `sampled`: `mean`, its 95 % interval from `low` to `high` (None if
    there is a single episode), and the `worst` and `best` return.
    """
    results = {}
    for kind in ("greedy", "sampled"):
        show = functools.partial(on_progress, kind)
        show(0)
        key = jax.random.key(seed)
        greedy = kind == "greedy"
        scores = episode_scores(run, network, episodes, key, greedy=greedy, on_progress=show)
        low, high = bootstrap_interval(scores) or (None, None)
        results[kind] = {"mean": float(scores.mean()), "low": low, "high": high}
        results[kind] |= {"worst": float(scores.min()), "best": float(scores.max())}
    return results


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


_choose_actions = jax.jit(choose_actions, static_argnums=6)


def _gymnasium_scores(
    run: RunSettings,
    network: ActorCritic,
    episodes: int,
    key: PRNGKeyArray,
    greedy: bool,
) -> Float[np.ndarray, " episodes"]:
    reset_key, key = jax.random.split(key)
    envs = GymCopies(run.env, run.params, episodes)
    frames = envs.reset(int(jax.random.randint(reset_key, (), 0, _GYM_SEEDS, jnp.int32)))
    memory, last_step = network.initial_state((episodes,)), no_last_step(network, episodes)
    starts, over = np.ones(episodes, bool), np.zeros(episodes, bool)
    scores = np.zeros(episodes, np.float32)
    for time in range(MOST_STEPS):
        memory, actions = _choose_actions(
            network,
            memory,
            jnp.asarray(frames),
            last_step,
            jnp.asarray(starts),
            jax.random.fold_in(key, time),
            greedy,
        )
        frames, rewards, terminated, truncated, _ = envs.step(np.asarray(actions))
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
    values: Float[Array, " steps"]
    """Of each frame, before its action."""
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

    **Returns:**

    The actions, of shape `(steps,)`, and the states of the memory, with time as their first axis.
    """
    frame, env_state = env.reset(key, params, hidden)

    def step(carry: PyTree[Array], key: PRNGKeyArray) -> tuple[PyTree[Array], PolicyRollout]:
        frame, env_state, memory, last_step, start = carry
        choice_key, env_key = jax.random.split(key)
        # The first state is empty: there is nothing that a start would clear.
        (value,) = value_of(network, memory, network.embed(frame[None], last_step))
        memory, (action,) = choose_actions(
            network, memory, frame[None], last_step, start[None], choice_key, greedy=False
        )
        frame, env_state, reward, *_ = env.step(env_key, env_state, action, params)
        contents = jax.tree.map(lambda leaf: leaf[0], memory)
        over = jnp.asarray(False)
        last_step = network.encode_last_step(action[None], reward[None], over[None])
        after = (frame, env_state, memory, last_step, over)
        return after, PolicyRollout(actions=action, values=value, memory=contents)

    memory, last_step = network.initial_state((1,)), no_last_step(network, 1)
    begin = (frame, env_state, memory, last_step, jnp.asarray(True))
    return jax.lax.scan(step, begin, jax.random.split(key, steps))[1]


def bootstrap_interval(
    scores: Float[np.ndarray, " episodes"], seed: int = 0
) -> tuple[float, float] | None:
    """A 95 % bootstrap interval of the mean (percentile method).

    **Arguments:**

    - `scores`: of shape `(episodes,)`.
    - `seed`: of the resampling.

    **Returns:**

    The lower and the upper end; None for fewer than two episodes, which say nothing about it.

    >>> bootstrap_interval(np.ones(10))
    (1.0, 1.0)
    """
    if len(scores) < 2:
        return None
    if np.ptp(scores) == 0:
        return float(scores[0]), float(scores[0])
    result = scipy.stats.bootstrap(
        (scores,),
        np.mean,
        n_resamples=2000,
        batch=max(1, _RESAMPLED // len(scores)),
        method="percentile",
        rng=np.random.default_rng(seed),
    )
    low, high = result.confidence_interval
    return float(low), float(high)
