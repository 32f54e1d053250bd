"""Learning: one rollout, slice by slice, with V-trace and any memory."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PyTree

from longpass.agents._networks import (
    Inputs,
    embed_inputs,
    embed_slice,
    trained_weights,
    writer_is_averaged,
)
from longpass.agents._rollouts import Rollout, Transition, value_of
from longpass.agents._settings import HyperParams, LearnerSettings
from longpass.agents._vtrace import vtrace
from longpass.networks import ActorCritic


class Weights(eqx.Module):
    """Everything that learning changes."""

    network: ActorCritic
    """The network that acts, and at which gradients are taken."""
    learned: PyTree[Array]
    """For the slow writer: the writing weights that the optimiser moves, in a tree like the
    network. Those in the network are their exponential average. Otherwise only Nones."""
    optimiser: PyTree[Array]
    """The optimiser's state."""


class Metrics(NamedTuple):
    """Measurements of one step of the optimiser; means over the steps of the slice."""

    loss: Float[Array, ""]
    policy_loss: Float[Array, ""]
    baseline_loss: Float[Array, ""]
    entropy: Float[Array, ""]
    ratio: Float[Array, ""]
    """Probability of the action now over that when it was taken; far from 1: off-policy."""
    gradient_norm: Float[Array, ""]


def init_weights(network: ActorCritic, settings: LearnerSettings) -> Weights:
    """Weights before the first step of the optimiser."""
    if writer_is_averaged(network):
        learned = eqx.filter(network, network.writing())
    else:
        learned = jax.tree.map(lambda _: None, network)
    trained, _ = eqx.partition(network, trained_weights(network))
    optimiser = _scaling(settings, jnp.float32(1.0)).init(trained)
    return Weights(network=network, learned=learned, optimiser=optimiser)


def learn(
    settings: LearnerSettings, weights: Weights, rollout: Rollout, hyper: HyperParams
) -> tuple[Weights, Metrics]:
    """Learn from a rollout: `epochs` times, group by group of copies, slice after slice.

    The memory's state before a rollout was made by the weights that acted, and it is not made anew
    when weights have changed, in later groups and epochs as with `lag`.

    **Returns:** (weights after the last step of the optimiser, metrics averaged over the steps).
    """

    def one_epoch(weights: Weights, _: None) -> tuple[Weights, Metrics]:
        return jax.lax.scan(
            lambda weights, group: _learn_group(settings, weights, group, hyper),
            weights,
            _divide_copies(rollout, settings.minibatches),
        )

    weights, metrics = jax.lax.scan(one_epoch, weights, length=settings.epochs)
    return weights, jax.tree.map(jnp.mean, metrics)


def _divide_copies(rollout: Rollout, groups: int) -> Rollout:
    """The rollouts of groups of neighbouring copies, with the groups as first axis."""

    def divide(array: Array, axis: int) -> Array:
        shape = array.shape
        divided = array.reshape(*shape[:axis], groups, shape[axis] // groups, *shape[axis + 1 :])
        return jnp.moveaxis(divided, axis, 0)

    return Rollout(
        memory=jax.tree.map(lambda leaf: divide(leaf, 0), rollout.memory),
        transitions=jax.tree.map(lambda leaf: divide(leaf, 1), rollout.transitions),
        next_inputs=jax.tree.map(lambda leaf: divide(leaf, 0), rollout.next_inputs),
    )


def _learn_group(
    settings: LearnerSettings, weights: Weights, rollout: Rollout, hyper: HyperParams
) -> tuple[Weights, Metrics]:
    """Learn from the rollout of some copies, slice after slice.

    **Returns:** (weights after the last slice, metrics averaged over slices).
    """
    slices, length = settings.num_slices, settings.slice_steps

    def cut(array: Array) -> Array:
        return array.reshape(slices, length, *array.shape[1:])

    transitions = jax.tree.map(cut, rollout.transitions)

    # The inputs after each slice are the first ones of the next slice.
    next_inputs = jax.tree.map(
        lambda inputs, last: jnp.concatenate([inputs[1:, 0], last[None]]),
        transitions.inputs,
        rollout.next_inputs,
    )

    def one_slice(
        carry: tuple[Weights, PyTree[Array]], inputs: tuple[Transition, Inputs]
    ) -> tuple[tuple[Weights, PyTree[Array]], Metrics]:
        weights, memory = carry
        transitions, next_inputs = inputs
        return _learn_slice(settings, weights, memory, transitions, next_inputs, hyper)

    begin = (weights, rollout.memory)
    (weights, _), metrics = jax.lax.scan(one_slice, begin, (transitions, next_inputs))
    return weights, jax.tree.map(jnp.mean, metrics)


def _learn_slice(
    settings: LearnerSettings,
    weights: Weights,
    memory: PyTree[Array],
    transitions: Transition,
    next_inputs: Inputs,
    hyper: HyperParams,
) -> tuple[tuple[Weights, PyTree[Array]], Metrics]:
    network = weights.network
    trained, fixed = eqx.partition(network, trained_weights(network))

    def loss(trained: PyTree[Array]) -> tuple[Array, tuple[PyTree[Array], Metrics]]:
        combined = eqx.combine(trained, fixed)
        return slice_loss(settings, combined, memory, transitions, next_inputs, hyper)

    (_, (memory, metrics)), gradients = jax.value_and_grad(loss, has_aux=True)(trained)
    # Not by optax: its norm has other names in other versions, and its clipping rounds differently
    # from the runs that were recorded.
    norm = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(gradients)))
    clipped = jax.tree.map(
        lambda leaf: leaf * jnp.minimum(1.0, hyper.clip_norm / (norm + 1e-12)), gradients
    )
    scaled, optimiser = _scaling(settings, hyper.epsilon).update(clipped, weights.optimiser)
    steps = jax.tree.map(lambda leaf: -hyper.learning_rate * leaf, scaled)
    to_writing, to_rest = eqx.partition(steps, network.writing())
    steps = eqx.combine(jax.tree.map(lambda leaf: hyper.writer_rate * leaf, to_writing), to_rest)
    network, learned = _apply_steps(settings, network, weights.learned, steps)
    metrics = metrics._replace(gradient_norm=norm)
    after = Weights(network=network, learned=learned, optimiser=optimiser)
    return (after, memory), metrics


def slice_loss(
    settings: LearnerSettings,
    network: ActorCritic,
    memory: PyTree[Array],
    transitions: Transition,
    next_inputs: Inputs,
    hyper: HyperParams,
) -> tuple[Float[Array, ""], tuple[PyTree[Array], Metrics]]:
    """The loss of one slice, time first and copies second.

    It is a mean over steps and copies of: minus log-probability times advantage, plus
    baseline_cost / 2 times the squared error of the value, minus entropy_cost times the entropy.

    **Returns:** (loss, (the memory's state after the slice, metrics)).
    """
    xs, x_next = embed_slice(network, transitions.inputs), embed_inputs(network, next_inputs)
    memory, ys = network.memory.unroll_batch(memory, xs, transitions.start, settings.block_every)
    logits, values = network.decide(ys)
    # Bootstrap, without gradient, from the first observation after the slice. If it starts an
    # episode, its value is not used.
    memory = jax.lax.stop_gradient(memory)
    beyond = value_of(jax.lax.stop_gradient(network), memory, jax.lax.stop_gradient(x_next))

    log_probs = jax.nn.log_softmax(logits)
    taken = jnp.take_along_axis(log_probs, transitions.action[..., None], axis=-1)[..., 0]
    ratios = jnp.exp(taken - transitions.log_prob)
    v_t = jnp.concatenate([values[1:], beyond[None]])
    targets, advantages = vtrace(
        values,
        jnp.where(transitions.truncated, transitions.last_value, v_t),
        hyper.reward_scale * transitions.reward,
        hyper.discount * (1.0 - transitions.terminated),
        ratios,
        cut_t=transitions.truncated | _horizon_ends(settings),
        lambda_=settings.lambda_,
        clip_rho=settings.clip_rho,
        clip_c=settings.clip_c,
    )
    policy_loss = -jnp.mean(taken * advantages)
    baseline_loss = 0.5 * jnp.mean((targets - values) ** 2)
    entropy = -jnp.mean(jnp.sum(jnp.exp(log_probs) * log_probs, axis=-1))
    loss = policy_loss + hyper.baseline_cost * baseline_loss - hyper.entropy_cost * entropy
    metrics = Metrics(
        loss=loss,
        policy_loss=policy_loss,
        baseline_loss=baseline_loss,
        entropy=entropy,
        ratio=jnp.mean(ratios),
        gradient_norm=jnp.zeros_like(loss),
    )
    return loss, (memory, jax.lax.stop_gradient(metrics))


def _horizon_ends(settings: LearnerSettings) -> np.ndarray:
    """(steps of a slice, 1): where V-trace's horizon ends."""
    steps = np.arange(1, settings.slice_steps + 1)
    return (steps % (settings.horizon or settings.slice_steps) == 0)[:, None]


def _scaling(
    settings: LearnerSettings, epsilon: Float[Array, ""] | float
) -> optax.GradientTransformation:
    """How the optimiser scales gradients, without the learning rate."""
    if settings.optimiser == "adam":
        return optax.scale_by_adam(eps=epsilon)  # pyright: ignore[reportArgumentType]
    return optax.scale_by_rms(
        decay=0.99,
        eps=epsilon,  # pyright: ignore[reportArgumentType]
        eps_in_sqrt=True,  # as in IMPALA
    )


def _apply_steps(
    settings: LearnerSettings, network: ActorCritic, learned: PyTree[Array], steps: PyTree[Array]
) -> tuple[ActorCritic, PyTree[Array]]:
    """(Network, learned writing weights) after a step of the optimiser."""
    if not writer_is_averaged(network):
        return eqx.apply_updates(network, steps), learned
    writing, rest = eqx.partition(network, network.writing())
    to_writing, to_rest = eqx.partition(steps, network.writing())
    learned = eqx.apply_updates(learned, to_writing)
    # Not optax.incremental_update: it rounds differently from the runs that were recorded.
    writing = jax.tree.map(
        lambda slow, fast: slow + settings.slow_rate * (fast - slow), writing, learned
    )
    return eqx.combine(writing, eqx.apply_updates(rest, to_rest)), learned
