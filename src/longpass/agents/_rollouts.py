"""Acting: rollouts of many copies of an environment, in one compiled loop."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Num, PRNGKeyArray, PyTree

from longpass.envs import AnyEnvironment, AutoReset
from longpass.networks import ActorCritic

SAMPLES = 256  # moments of random play at which frames are sampled


class Actors(eqx.Module):
    """Where every copy stands between two steps."""

    env: PyTree[Array]
    frame: Num[Array, "envs *observation"]
    start: Bool[Array, " envs"]
    """Whether that frame begins an episode."""
    memory: PyTree[Array]
    """The memory's state before the frame is read."""
    score: Float[Array, " envs"]
    """Rewards of the episode so far."""
    whole: Bool[Array, " envs"]
    """Whether the episode was watched from its beginning, so that its score counts."""


class Moment(NamedTuple):
    """One step of every copy, as it is recorded; in a rollout, with time as the first axis."""

    seen: Num[Array, "..."]
    """Frames; or their embeddings, where the writer is frozen and they stay what they are."""
    start: Bool[Array, "*time envs"]
    action: Int[Array, "*time envs"]
    log_prob: Float[Array, "*time envs"]
    """Of the action, when it was taken."""
    reward: Float[Array, "*time envs"]
    terminated: Bool[Array, "*time envs"]
    truncated: Bool[Array, "*time envs"]
    last_value: Float[Array, "*time envs"]
    """Where truncated: the value of the frame that was the episode's last. Elsewhere 0."""
    score: Float[Array, "*time envs"]
    """Where a whole episode ended: its return. Elsewhere NaN."""


class Rollout(NamedTuple):
    """What was played, from the memory's state before its first frame on."""

    memory: PyTree[Array]
    moments: Moment
    seen_next: Num[Array, "envs *seen"]
    """What is seen after the last step."""


def choose(
    network: ActorCritic,
    memory: PyTree[Array],
    xs: Float[Array, "envs embedding"],
    starts: Bool[Array, " envs"],
    noise: Float[Array, "envs actions"],
) -> tuple[PyTree[Array], Int[Array, " envs"], Float[Array, " envs"]]:
    """(Memory after this frame, actions drawn by Gumbel noise, their log-probabilities)."""
    memory, ys = jax.vmap(network.memory.step)(memory, xs, starts)
    logits, _ = network.decide(ys)
    actions = jnp.argmax(logits + noise, axis=-1).astype(jnp.int32)
    taken = jnp.take_along_axis(jax.nn.log_softmax(logits), actions[:, None], axis=-1)[:, 0]
    return memory, actions, taken


def value_of(
    network: ActorCritic, memory: PyTree[Array], xs: Float[Array, "envs embedding"]
) -> Float[Array, " envs"]:
    """The values of frames that are read next, within the episode."""
    _, ys = jax.vmap(network.memory.step)(memory, xs, jnp.zeros(xs.shape[0], bool))
    return network.decide(ys)[1]


def act(
    env: AnyEnvironment,
    params: Any,
    network: ActorCritic,
    actors: Actors,
    steps: int,
    key: PRNGKeyArray,
) -> tuple[Actors, Rollout]:
    """Play `steps` steps of every copy."""
    copies, actions = actors.start.shape[0], env.action_space(params).n
    noise_key, env_key = jax.random.split(key)
    noise = jax.random.gumbel(noise_key, (steps, copies, actions), jnp.float32)
    step_env = jax.vmap(AutoReset(env).step, in_axes=(0, 0, 0, None))
    may_truncate = params.truncate_at_timeout is not False

    def step(actors: Actors, inputs: Any) -> tuple[Actors, Moment]:
        noise, key = inputs
        xs = network.embed(actors.frame)
        memory, action, log_prob = choose(network, actors.memory, xs, actors.start, noise)
        keys = jax.random.split(key, copies)
        frame, state, reward, terminated, truncated, info = step_env(
            keys, actors.env, action, params
        )
        last_value = jnp.zeros(copies, log_prob.dtype)
        if may_truncate:
            last_value = jax.lax.cond(
                jnp.any(truncated),
                lambda: value_of(network, memory, network.embed(info["final_observation"])),
                lambda: last_value,
            )
        ended, score = terminated | truncated, actors.score + reward
        moment = Moment(
            xs if network.writer == "frozen" else actors.frame,
            actors.start,
            action,
            log_prob,
            reward,
            terminated,
            truncated,
            jnp.where(truncated, last_value, 0.0),
            jnp.where(ended & actors.whole, score, jnp.nan),
        )
        after = Actors(
            state, frame, ended, memory, jnp.where(ended, 0.0, score), actors.whole | ended
        )
        return after, moment

    after, moments = jax.lax.scan(step, actors, (noise, jax.random.split(env_key, steps)))
    seen = network.embed(after.frame) if network.writer == "frozen" else after.frame
    return after, Rollout(actors.memory, moments, seen)


def random_play(
    env: AnyEnvironment, params: Any, copies: int, most: int, key: PRNGKeyArray
) -> tuple[Any, Num[Array, "envs *observation"], Num[Array, "samples *observation"]]:
    """Copies left at random moments, up to `most` steps, of episodes played at random.

    (Their states, their frames, frames of all copies sampled evenly over time.)
    """
    reset_key, moment_key, play_key = jax.random.split(key, 3)
    frame, state = jax.vmap(AutoReset(env).reset, in_axes=(0, None))(
        jax.random.split(reset_key, copies), params
    )
    step_env = jax.vmap(AutoReset(env).step, in_axes=(0, 0, 0, None))
    leave_at = jax.random.randint(moment_key, (copies,), 0, most, jnp.int32)
    between = -(-most // SAMPLES)

    def step(carry: Any, key: PRNGKeyArray) -> tuple[Any, None]:
        time, now, left = carry
        keys = jax.random.split(key, 1 + copies)
        count = env.action_space(params).n
        actions = jax.random.randint(keys[0], (copies,), 0, count, jnp.int32)
        frame, state, *_ = step_env(keys[1:], now[1], actions, params)
        time = time + 1
        return (time, (frame, state), _choose_copies(time == leave_at, (frame, state), left)), None

    def stretch(carry: Any, key: PRNGKeyArray) -> tuple[Any, Any]:
        carry, _ = jax.lax.scan(step, carry, jax.random.split(key, between))
        return carry, carry[1][0]

    begin = (jnp.int32(0), (frame, state), (frame, state))
    keys = jax.random.split(play_key, -(-most // between))
    (_, _, (frame, state)), frames = jax.lax.scan(stretch, begin, keys)
    return state, frame, frames.reshape(-1, *frames.shape[2:])


def _choose_copies(which: Bool[Array, " envs"], yes: Any, no: Any) -> Any:
    """`yes` for the copies `which`, else `no`; leaf by leaf, copies first."""

    def pick(one: Array, other: Array) -> Array:
        return jnp.where(which.reshape(-1, *[1] * (one.ndim - 1)), one, other)

    return jax.tree.map(pick, yes, no)
