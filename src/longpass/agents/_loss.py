"""Learning: one rollout, slice by slice, with V-trace and any memory."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PyTree

from longpass.agents._rollouts import Moment, Rollout, value_of
from longpass.agents._settings import AgentSettings, Hyper
from longpass.agents._vtrace import vtrace
from longpass.networks import ActorCritic


class Weights(eqx.Module):
    """All that learning changes."""

    network: ActorCritic
    """What acts, and where gradients are taken."""
    learned: PyTree[Array]
    """For `writer="slow"`: the writing weights that the optimiser moves, in the network's form;
    those in the network follow as their exponential average. Else nothing but Nones."""
    optimiser: PyTree[Array]


class Metrics(NamedTuple):
    """What one step of the optimiser saw; means over the slice's steps."""

    loss: Float[Array, ""]
    policy_loss: Float[Array, ""]
    baseline_loss: Float[Array, ""]
    entropy: Float[Array, ""]
    ratio: Float[Array, ""]
    """Of the action's probability now to that when it was taken; far from 1: off-policy."""
    gradient_norm: Float[Array, ""]


def begin(network: ActorCritic, settings: AgentSettings) -> Weights:
    """Weights before the first step."""
    learned = eqx.filter(network, network.writing()) if network.writer == "slow" else None
    if learned is None:
        learned = jax.tree.map(lambda _: None, network)
    moving, _ = eqx.partition(network, _moves(network))
    return Weights(network, learned, _scaling(settings, jnp.float32(1.0)).init(moving))


def learn(
    settings: AgentSettings, weights: Weights, rollout: Rollout, hyper: Hyper
) -> tuple[Weights, Metrics]:
    """Learn from a rollout, slice after slice: (weights, metrics averaged over slices)."""
    slices, length = settings.slices, settings.slice_steps

    def cut(array: Array) -> Array:
        return array.reshape(slices, length, *array.shape[1:])

    moments = jax.tree.map(cut, rollout.moments)

    # What is seen after each slice: the first of the next one.
    seen_next = jnp.concatenate([moments.seen[1:, 0], rollout.seen_next[None]])

    def one_slice(carry: Any, inputs: Any) -> tuple[Any, Metrics]:
        weights, memory = carry
        return _learn_slice(settings, weights, memory, *inputs, hyper=hyper)

    begin = (weights, rollout.memory)
    (weights, _), metrics = jax.lax.scan(one_slice, begin, (moments, seen_next))
    return weights, jax.tree.map(jnp.mean, metrics)


def _learn_slice(
    settings: AgentSettings,
    weights: Weights,
    memory: PyTree[Array],
    moments: Moment,
    seen_next: Array,
    hyper: Hyper,
) -> tuple[tuple[Weights, PyTree[Array]], Metrics]:
    network = weights.network
    moving, fixed = eqx.partition(network, _moves(network))

    def loss(moving: PyTree[Array]) -> tuple[Array, tuple[Any, Metrics]]:
        return slice_loss(settings, eqx.combine(moving, fixed), memory, moments, seen_next, hyper)

    (_, (memory, metrics)), gradients = jax.value_and_grad(loss, has_aux=True)(moving)
    norm = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(gradients)))
    shortened = jax.tree.map(
        lambda leaf: leaf * jnp.minimum(1.0, hyper.clip_norm / (norm + 1e-12)), gradients
    )
    scaled, optimiser = _scaling(settings, hyper.epsilon).update(shortened, weights.optimiser)
    steps = jax.tree.map(lambda leaf: -hyper.learning_rate * leaf, scaled)
    network, learned = _moved(settings, network, weights.learned, steps)
    metrics = metrics._replace(gradient_norm=norm)
    return (Weights(network, learned, optimiser), memory), metrics


def slice_loss(
    settings: AgentSettings,
    network: ActorCritic,
    memory: PyTree[Array],
    moments: Moment,
    seen_next: Array,
    hyper: Hyper,
) -> tuple[Float[Array, ""], tuple[PyTree[Array], Metrics]]:
    """(Loss, (memory after the slice, metrics)) of one slice, time first and copies second.

    The loss is a mean over steps and copies of: minus log-probability times advantage, plus
    baseline_cost / 2 times the squared error of the value, minus entropy_cost times the entropy.
    """
    xs, x_next = moments.seen, seen_next
    if network.writer != "frozen":
        xs, x_next = network.embed(xs), network.embed(x_next)

    def unroll(memory: Any, xs: Array, starts: Array) -> tuple[Any, Array]:
        return network.memory.unroll(memory, xs, starts, settings.block_every)

    memory, ys = jax.vmap(unroll, in_axes=(0, 1, 1), out_axes=(0, 1))(memory, xs, moments.start)
    logits, values = network.decide(ys)
    # What is beyond the slice tells its value, and learns from its own slice. If an episode starts
    # there, V-trace does not look.
    memory = jax.lax.stop_gradient(memory)
    beyond = value_of(jax.lax.stop_gradient(network), memory, jax.lax.stop_gradient(x_next))

    log_probs = jax.nn.log_softmax(logits)
    taken = jnp.take_along_axis(log_probs, moments.action[..., None], axis=-1)[..., 0]
    ratios = jnp.exp(taken - moments.log_prob)
    v_t = jnp.concatenate([values[1:], beyond[None]])
    targets, advantages = vtrace(
        values,
        jnp.where(moments.truncated, moments.last_value, v_t),
        hyper.reward_scale * moments.reward,
        hyper.discount * (1.0 - moments.terminated),
        ratios,
        cut_t=moments.truncated | _horizon_ends(settings),
        lambda_=settings.lambda_,
        clip_rho=settings.clip_rho,
        clip_c=settings.clip_c,
    )
    policy_loss = -jnp.mean(taken * advantages)
    baseline_loss = 0.5 * jnp.mean((targets - values) ** 2)
    entropy = -jnp.mean(jnp.sum(jnp.exp(log_probs) * log_probs, axis=-1))
    loss = policy_loss + hyper.baseline_cost * baseline_loss - hyper.entropy_cost * entropy
    metrics = Metrics(
        loss, policy_loss, baseline_loss, entropy, jnp.mean(ratios), jnp.zeros_like(loss)
    )
    return loss, (memory, jax.lax.stop_gradient(metrics))


def _horizon_ends(settings: AgentSettings) -> np.ndarray:
    """(steps of a slice, 1): where a stretch of `horizon` steps ends."""
    steps = np.arange(1, settings.slice_steps + 1)
    return (steps % (settings.horizon or settings.slice_steps) == 0)[:, None]


def _moves(network: ActorCritic) -> PyTree[bool]:
    """True for each array that learns."""
    frozen = network.writer == "frozen"
    return jax.tree.map(lambda writes: not (frozen and writes), network.writing())


def _scaling(settings: AgentSettings, epsilon: Float[Array, ""]) -> optax.GradientTransformation:
    """How the optimiser scales gradients, without the learning rate."""
    if settings.optimiser == "adam":
        return optax.scale_by_adam(eps=epsilon)  # pyright: ignore[reportArgumentType]
    return optax.scale_by_rms(decay=0.99, eps=epsilon)  # pyright: ignore[reportArgumentType]


def _moved(
    settings: AgentSettings, network: ActorCritic, learned: PyTree[Array], steps: PyTree[Array]
) -> tuple[ActorCritic, PyTree[Array]]:
    """(Network, learned writing weights) after a step of the optimiser."""
    if network.writer != "slow":
        return eqx.apply_updates(network, steps), learned
    writing, rest = eqx.partition(network, network.writing())
    to_writing, to_rest = eqx.partition(steps, network.writing())
    learned = eqx.apply_updates(learned, to_writing)
    writing = jax.tree.map(
        lambda slow, fast: slow + settings.slow_rate * (fast - slow), writing, learned
    )
    return eqx.combine(writing, eqx.apply_updates(rest, to_rest)), learned
