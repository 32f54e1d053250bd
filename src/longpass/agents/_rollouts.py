"""Acting: rollouts of many copies of an environment, in one compiled loop."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Num, PRNGKeyArray, PyTree

from longpass.agents._frame_table import FrameTable
from longpass.agents._networks import Inputs, to_inputs
from longpass.envs import AnyEnvironment, AutoReset, Params
from longpass.networks import ActorCritic

SAMPLES = 256  # steps of random play at which frames are sampled


class Actors(eqx.Module):
    """The state of every copy of the environment, and of the agent in it, between two steps."""

    env_state: PyTree[Array]
    observation: Num[Array, "envs *observation"]
    start: Bool[Array, " envs"]
    """Whether the observation begins an episode."""
    memory: PyTree[Array]
    """The memory's state before the observation is read."""
    score: Float[Array, " envs"]
    """Sum of the rewards of the episode so far."""
    last_step: Float[Array, "envs last"] | None
    """The action and reward that led to the observation, if the network reads them."""
    complete: Bool[Array, " envs"]
    """Whether the episode was observed from its beginning, so that its score counts."""


class Transition(NamedTuple):
    """One step of every copy; in a rollout, with time as the first axis."""

    inputs: Inputs
    """Observations, or their embeddings if the writer is frozen; see `to_inputs`."""
    start: Bool[Array, "*time envs"]
    """Whether the observation begins an episode."""
    action: Int[Array, "*time envs"]
    log_prob: Float[Array, "*time envs"]
    """Log-probability of the action when it was taken."""
    reward: Float[Array, "*time envs"]
    terminated: Bool[Array, "*time envs"]
    truncated: Bool[Array, "*time envs"]
    last_value: Float[Array, "*time envs"]
    """Where truncated: the value of the episode's last observation. Elsewhere 0."""
    score: Float[Array, "*time envs"]
    """Where a complete episode ended: its return. Elsewhere NaN."""


class Outcome(NamedTuple):
    """What the environment gave for the actions of every copy."""

    env_state: PyTree[Array]
    observation: Num[Array, "envs *observation"]
    """What is seen next: where an episode ended, the first observation of the next one."""
    reward: Float[Array, " envs"]
    terminated: Bool[Array, " envs"]
    truncated: Bool[Array, " envs"]
    last_value: Float[Array, " envs"]
    """Where truncated: the value of the episode's last observation. Elsewhere anything."""


class Rollout(NamedTuple):
    """A number of steps of every copy."""

    memory: PyTree[Array]
    """The memory's state before the first step."""
    transitions: Transition
    next_inputs: Inputs
    """The inputs after the last step."""


def fresh_actors(
    env_state: PyTree[Array], observation: Num[Array, "envs *observation"], network: ActorCritic
) -> Actors:
    """Actors with empty memories, in the middle of episodes that do not count."""
    copies = observation.shape[0]
    return Actors(
        env_state=env_state,
        observation=observation,
        start=jnp.ones(copies, bool),
        memory=network.initial_state((copies,)),
        score=jnp.zeros(copies, jnp.float32),
        last_step=no_last_step(network, copies),
        complete=jnp.zeros(copies, bool),
    )


def no_last_step(network: ActorCritic, copies: int) -> Float[Array, "envs last"] | None:
    """The last step before the first one of an episode, in every copy."""
    none = jnp.zeros(copies, jnp.int32)
    return network.encode_last_step(none, jnp.zeros(copies, jnp.float32), jnp.ones(copies, bool))


def choose(
    network: ActorCritic,
    memory: PyTree[Array],
    xs: Float[Array, "envs embedding"],
    starts: Bool[Array, " envs"],
    noise: Float[Array, "envs actions"],
) -> tuple[PyTree[Array], Int[Array, " envs"], Float[Array, " envs"]]:
    """Read one observation per copy and choose actions.

    **Arguments:**

    - `network`: the agent's network.
    - `memory`: its memory's state, copies first.
    - `xs`: embeddings of the observations.
    - `starts`: where episodes begin.
    - `noise`: added to the logits before the largest is taken; Gumbel noise draws actions from the
      policy, zeros give the likeliest ones.

    **Returns:** (the memory's state after the observations, actions, their log-probabilities).
    """
    memory, ys = jax.vmap(network.memory.step)(memory, xs, starts)
    logits, _ = network.decide(ys)
    actions = jnp.argmax(logits + noise, axis=-1).astype(jnp.int32)
    taken = jnp.take_along_axis(jax.nn.log_softmax(logits), actions[:, None], axis=-1)[:, 0]
    return memory, actions, taken


def value_of(
    network: ActorCritic, memory: PyTree[Array], xs: Float[Array, "envs embedding"]
) -> Float[Array, " envs"]:
    """The values of the observations that are read next, within the episode."""
    _, ys = jax.vmap(network.memory.step)(memory, xs, jnp.zeros(xs.shape[0], bool))
    return network.decide(ys)[1]


def value_after(
    network: ActorCritic,
    memory: PyTree[Array],
    observations: Num[Array, "envs *observation"],
    actions: Int[Array, " envs"],
    rewards: Float[Array, " envs"],
) -> Float[Array, " envs"]:
    """The values of the observations that these actions and rewards led to, within the episode."""
    last_step = network.encode_last_step(actions, rewards, jnp.zeros(actions.shape, bool))
    return value_of(network, memory, network.embed(observations, last_step))


def finish_step(
    network: ActorCritic,
    actors: Actors,
    xs: Float[Array, "envs embedding"],
    chosen: tuple[PyTree[Array], Int[Array, " envs"], Float[Array, " envs"]],
    outcome: Outcome,
) -> tuple[Actors, Transition]:
    """What a step leaves: the actors after it, and what is learned from.

    **Arguments:**

    - `network`: the network that acts.
    - `actors`: where the copies were.
    - `xs`: embeddings of their observations.
    - `chosen`: what `choose` returned for them.
    - `outcome`: what the actions led to.

    **Returns:** (the actors after the step, the step).
    """
    memory, action, log_prob = chosen
    env_state, observation, reward, terminated, truncated, last_value = outcome
    ended, score = terminated | truncated, actors.score + reward
    transition = Transition(
        inputs=to_inputs(network, actors.observation, actors.last_step, xs),
        start=actors.start,
        action=action,
        log_prob=log_prob,
        reward=reward,
        terminated=terminated,
        truncated=truncated,
        last_value=jnp.where(truncated, last_value, 0.0),
        score=jnp.where(ended & actors.complete, score, jnp.nan),
    )
    after = Actors(
        env_state=env_state,
        observation=observation,
        start=ended,
        memory=memory,
        score=jnp.where(ended, 0.0, score),
        last_step=network.encode_last_step(action, reward, ended),
        complete=actors.complete | ended,
    )
    return after, transition


def act(
    env: AnyEnvironment,
    params: Params,
    network: ActorCritic,
    actors: Actors,
    steps: int,
    key: PRNGKeyArray,
    table: FrameTable | None = None,
) -> tuple[Actors, Rollout, FrameTable | None]:
    """Play `steps` steps of every copy.

    **Arguments:**

    - `env`, `params`: the environment and its parameters.
    - `network`: the network that acts.
    - `actors`: where the copies are.
    - `steps`: number of steps.
    - `key`: for actions and environments.
    - `table`: embeddings of frames that this network has seen before, if they are kept.

    **Returns:** (the actors after the last step, the rollout, the table with its frames).
    """
    copies, actions = actors.start.shape[0], env.action_space(params).n
    noise_key, env_key = jax.random.split(key)
    noise = jax.random.gumbel(noise_key, (steps, copies, actions), jnp.float32)
    keys = jax.random.split(env_key, (steps, copies))
    step_envs = AutoReset(env).step_batch
    may_truncate = params.truncate_at_timeout is not False
    # Products with few rows are much faster with matrices that lie the other way round. The barrier
    # keeps XLA from turning them back.
    leaves, structure = jax.tree.flatten(network)
    turned = jax.lax.optimization_barrier([_turn(leaf) for leaf in leaves])

    def step(
        carry: tuple[Actors, FrameTable | None], inputs: tuple[Array, Array]
    ) -> tuple[tuple[Actors, FrameTable | None], Transition]:
        (actors, table), (noise, keys) = carry, inputs
        network = jax.tree.unflatten(structure, [_turn(leaf) for leaf in turned])
        if table is None:
            xs = network.embed(actors.observation, actors.last_step)
        else:
            table, xs = table.embed(network, actors.observation)
        memory, action, log_prob = choose(network, actors.memory, xs, actors.start, noise)
        observation, env_state, reward, terminated, truncated, info = step_envs(
            keys, actors.env_state, action, params
        )
        last_value = jnp.zeros(copies, log_prob.dtype)
        if may_truncate:
            last_value = jax.lax.cond(
                jnp.any(truncated),
                lambda: value_after(network, memory, info["final_observation"], action, reward),
                lambda: last_value,
            )
        outcome = Outcome(env_state, observation, reward, terminated, truncated, last_value)
        after, transition = finish_step(network, actors, xs, (memory, action, log_prob), outcome)
        return (after, table), transition

    (after, table), transitions = jax.lax.scan(step, (actors, table), (noise, keys))
    rollout = Rollout(
        memory=actors.memory,
        transitions=transitions,
        next_inputs=to_inputs(network, after.observation, after.last_step),
    )
    return after, rollout, table


def random_play(
    env: AnyEnvironment, params: Params, copies: int, most: int, key: PRNGKeyArray
) -> tuple[PyTree[Array], Num[Array, "envs *observation"], Num[Array, "samples *observation"]]:
    """Play at random, and leave each copy after a random number of steps below `most`.

    **Returns:** (states of the copies, their observations, observations of all copies sampled
    evenly over time).
    """
    reset_key, leave_key, play_key = jax.random.split(key, 3)
    frame, state = jax.vmap(AutoReset(env).reset, in_axes=(0, None))(
        jax.random.split(reset_key, copies), params
    )
    step_envs = AutoReset(env).step_batch
    leave_at = jax.random.randint(leave_key, (copies,), 0, most, jnp.int32)
    between = -(-most // SAMPLES)

    def step(carry: PyTree[Array], key: PRNGKeyArray) -> tuple[PyTree[Array], None]:
        time, now, left = carry
        keys = jax.random.split(key, 1 + copies)
        count = env.action_space(params).n
        actions = jax.random.randint(keys[0], (copies,), 0, count, jnp.int32)
        frame, state, *_ = step_envs(keys[1:], now[1], actions, params)
        time = time + 1
        return (time, (frame, state), _choose_copies(time == leave_at, (frame, state), left)), None

    def play_between_samples(
        carry: PyTree[Array], key: PRNGKeyArray
    ) -> tuple[PyTree[Array], Array]:
        carry, _ = jax.lax.scan(step, carry, jax.random.split(key, between))
        return carry, carry[1][0]

    begin = (jnp.int32(0), (frame, state), (frame, state))
    keys = jax.random.split(play_key, -(-most // between))
    (_, _, (frame, state)), frames = jax.lax.scan(play_between_samples, begin, keys)
    return state, frame, frames.reshape(-1, *frames.shape[2:])


def _turn(array: Array) -> Array:
    """The array with its last two axes exchanged, if it has two."""
    return array if array.ndim < 2 else jnp.swapaxes(array, -1, -2)


def _choose_copies(
    which: Bool[Array, " envs"], yes: PyTree[Array], no: PyTree[Array]
) -> PyTree[Array]:
    """`yes` for the copies `which`, else `no`; leaf by leaf, copies first."""

    def pick(one: Array, other: Array) -> Array:
        return jnp.where(which.reshape(-1, *[1] * (one.ndim - 1)), one, other)

    return jax.tree.map(pick, yes, no)
