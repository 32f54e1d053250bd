"""What the learner does with states, starts, gradients, old weights and writers."""

import dataclasses
import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from longpass.agents import (
    HyperParams,
    Impala,
    LearnerSettings,
    Rollout,
    Transition,
    _impala,
    _loss,
)
from longpass.agents._networks import init_embedding, to_inputs
from longpass.agents._rollouts import act, value_of
from longpass.memory import AbstractMemory
from longpass.networks import ActorCritic
from tests.agents.probes import RECALL, Clock, Probe, ProbeParams
from tests.agents.zoo import hyper, small_network
from tests.helpers import QUICK_COMPILE

KEY = jax.random.key(0)
quick_jit = functools.partial(jax.jit, compiler_options=QUICK_COMPILE)


class Counter(AbstractMemory):
    """Counts the frames since the last start (if it heeds starts); reads the clock beside it."""

    heeds_starts: bool = eqx.field(static=True, default=True)
    input_size: int = eqx.field(static=True, default=1)
    dtype: np.dtype = eqx.field(static=True, default=jnp.dtype(jnp.float32))

    @property
    def output_shape(self):
        return (2,)

    def initial_state(self, batch_shape=()):
        return jnp.zeros(batch_shape, jnp.float32)

    def step(self, state, x, start: Any = False):
        count = 1.0 + (jnp.where(start, 0.0, state) if self.heeds_starts else state)
        return count, jnp.stack([count, x[0]])

    def unroll(self, state, xs, starts=None, block_every=None):
        return jax.lax.scan(lambda state, inputs: self.step(state, *inputs), state, (xs, starts))


class Dial(eqx.Module):
    """A torso that reads the clock off the board."""

    def __call__(self, frames):
        return jnp.argmax(frames[..., 0, 0, :], axis=-1)[..., None].astype(jnp.float32)


def counting_network(reads, heeds_starts=True):
    """A network whose value is `reads` times (frames counted, frames on the clock)."""
    network = ActorCritic(Counter(heeds_starts), (1, 1, 8), 5, key=KEY)
    value = jnp.asarray(reads, jnp.float32)[None]
    return eqx.tree_at(lambda net: (net.torso, net.value.weight), network, (Dial(), value))


def counted(**options):
    """(Training, baseline losses) of some updates at a learning rate of 0, which pay nothing."""
    settings = LearnerSettings(envs=3, rollout=10, slices=2, block_every=2, stagger=9)
    learner = Impala(
        Clock(), ProbeParams(0, 7), lambda key: counting_network([1.0, -1.0], **options), settings
    )
    still = hyper(learning_rate=0.0, discount=0.0, entropy_cost=0.0)

    @quick_jit
    def run(key):
        state = learner.init(key)
        return jax.lax.scan(lambda state, _: learner.update(state, still), state, length=5)

    state, result = run(KEY)
    # Copies begin in the middle of episodes that nobody counted: leave those out.
    return state, result.metrics.baseline_loss[1:]


@pytest.mark.slow
def test_a_counting_memory_counts_every_frame_of_every_episode():
    """The memory's count is the clock's, in acting and in learning, across rollouts, slices and
    starts inside them. The value is their difference, which is 1 everywhere: the memory counts a
    frame when it reads it, the clock shows those before."""
    state, losses = counted()
    np.testing.assert_array_equal(losses, 0.5)
    waiting = np.asarray(state.actors.memory)
    clock = np.asarray(jnp.argmax(state.actors.observation[:, 0, 0], axis=-1))
    np.testing.assert_array_equal(np.where(state.actors.start, 0, waiting), clock)


@pytest.mark.slow
def test_the_counting_probe_can_fail():
    """If the memory ignores starts, the same probe finds a difference."""
    _, losses = counted(heeds_starts=False)
    assert np.all(losses > 1.0)


@pytest.mark.slow
def test_a_truncated_end_is_worth_its_last_frame():
    """The last frame of an episode that ran out of time is read in its own episode's memory."""
    settings = LearnerSettings(envs=3, rollout=10, slices=1, block_every=2, stagger=9)
    params = ProbeParams(0, 7, True)
    learner = Impala(Clock(), params, lambda key: counting_network([1.0, 1.0]), settings)

    @quick_jit
    def play(key):
        state = learner.init(key)
        return act(Clock(), params, state.weights.network, state.actors, 30, key)[1].transitions

    transitions = play(KEY)
    seen_whole = np.cumsum(transitions.truncated, axis=0) > 1
    ends = transitions.truncated & seen_whole
    assert ends.sum() > 5
    # It is the eighth frame counted, and the clock shows 7.
    np.testing.assert_array_equal(transitions.last_value[ends], 15.0)
    assert not transitions.last_value[~transitions.truncated].any()
    assert not transitions.terminated.any()


HYPER = hyper(learning_rate=1e-2)


def small(writer="learned", embedding="plain"):
    sizes = {"num_pools": 3, "pool_size": 8, "viewport_size": 4, "output_size": 8}
    form = {"writer": writer, "embedding": embedding, "normalise": None}
    # Built by one program: op by op, JAX would compile dozens.
    return eqx.filter_jit(small_network("chain", **sizes, **form))(KEY)


PARAMS = ProbeParams(RECALL, 5)
SETTINGS = LearnerSettings(envs=4, rollout=12, slices=2, block_every=2, stagger=5)


def rollout(network):
    """A rollout of 12 steps of 4 copies, made up."""
    rng = np.random.default_rng(0)
    frames = np.eye(4, dtype=np.uint8)[rng.integers(0, 4, (13, 4))][:, :, None, None]
    embed = eqx.filter_jit(to_inputs)
    now, after = (embed(network, jnp.asarray(part), None) for part in (frames[:-1], frames[-1]))
    flags = rng.random((3, 12, 4)) < 0.15
    transitions = Transition(
        inputs=now,
        start=jnp.asarray(flags[0]),
        action=jnp.asarray(rng.integers(0, 5, (12, 4)), jnp.int32),
        log_prob=jnp.full((12, 4), -np.log(5.0), jnp.float32),
        reward=jnp.asarray(rng.normal(size=(12, 4)), jnp.float32),
        terminated=jnp.asarray(flags[1]),
        truncated=jnp.asarray(flags[2] & ~flags[1]),
        last_value=jnp.zeros((12, 4), jnp.float32),
        score=jnp.full((12, 4), jnp.nan, jnp.float32),
    )
    memory = jnp.asarray(rng.normal(size=(4, 3, 8)), jnp.float32)
    return Rollout(memory=memory, transitions=transitions, next_inputs=after)


def plain_vtrace(rows, discount, lambda_, clip_rho, clip_c):
    """(Targets, advantages) of one copy: V-trace as a sum over later steps, up to the next cut.

    `rows` is (value, next value, reward, terminated, cut, ratio) per step.
    """
    values = [value for value, *_ in rows]
    targets, advantages = list(values), []
    for first in range(len(rows)):
        weight = 1.0
        for value, after, reward, terminated, cut, ratio in rows[first:]:
            gamma = discount * (not terminated)
            targets[first] += weight * min(ratio, clip_rho) * (reward + gamma * after - value)
            weight *= gamma * lambda_ * min(ratio, clip_c) * (not cut)
    for time, (value, after, reward, terminated, cut, ratio) in enumerate(rows):
        if not cut:
            after = (1 - lambda_) * after + lambda_ * targets[time + 1]
        gamma = discount * (not terminated)
        advantages.append(min(ratio, clip_rho) * (reward + gamma * after - value))
    return targets, advantages


@pytest.mark.slow
def test_the_loss_is_its_formula():
    """In plain NumPy, with every setting that the loss has, and episodes that were truncated."""
    horizon, lambda_, clip_rho, clip_c = 5, 0.8, 0.9, 0.7
    settings = LearnerSettings(
        envs=4, rollout=12, slices=1, block_every=2, horizon=horizon, lambda_=lambda_,
        clip_rho=clip_rho, clip_c=clip_c,
    )  # fmt: skip
    discount, scale, baseline_cost, entropy_cost = 0.9, 2.5, 0.3, 0.07
    values = hyper(
        discount=discount, reward_scale=scale, baseline_cost=baseline_cost,
        entropy_cost=entropy_cost,
    )  # fmt: skip
    network, rng = small(), np.random.default_rng(1)
    played = rollout(network)
    # Ratios on both sides of the clips, and last values unlike those of the first frames after.
    steps = played.transitions._replace(
        log_prob=jnp.asarray(np.log(rng.uniform(0.1, 0.5, (12, 4))), jnp.float32),
        last_value=jnp.where(played.transitions.truncated, 3.0, 0.0).astype(jnp.float32),
    )

    @quick_jit
    def measure(network):
        parts = played.memory, steps, played.next_inputs
        (_, (_, metrics)), gradients = jax.value_and_grad(
            lambda net: _loss.slice_loss(settings, net, *parts, values), has_aux=True
        )(network)
        xs = network.embed(*steps.inputs)
        memory, ys = network.memory.unroll_batch(played.memory, xs, steps.start)
        beyond = value_of(network, memory, network.embed(*played.next_inputs))
        return metrics, gradients.value.bias, network.decide(ys), beyond

    metrics, gradient, (logits, v), beyond = jax.device_get(measure(network))
    probs = np.exp(logits.astype(float))
    probs /= probs.sum(axis=-1, keepdims=True)
    taken = np.take_along_axis(probs, np.asarray(steps.action)[..., None], axis=-1)[..., 0]
    ratios = taken / np.exp(steps.log_prob)
    for clip in (clip_rho, clip_c):
        assert 0.1 < np.mean(ratios > clip) < 0.9
    after = np.where(steps.truncated, steps.last_value, np.concatenate([v[1:], beyond[None]]))
    cut = np.asarray(steps.truncated) | (np.arange(12) % horizon == horizon - 1)[:, None]
    cut[-1] = True
    columns = (v, after, scale * steps.reward, steps.terminated, cut, ratios)
    assert np.sum(steps.truncated & ~steps.terminated) > 2
    found = [
        plain_vtrace(rows, discount, lambda_, clip_rho, clip_c)
        for rows in np.stack([np.asarray(one, float) for one in columns], axis=-1).swapaxes(0, 1)
    ]
    targets, advantages = (np.transpose(one) for one in zip(*found, strict=True))
    policy_loss = -np.mean(np.log(taken) * advantages)
    baseline_loss = np.mean((targets - v) ** 2) / 2
    entropy = -np.mean(np.sum(probs * np.log(probs), axis=-1))
    loss = policy_loss + baseline_cost * baseline_loss - entropy_cost * entropy
    expected = (loss, policy_loss, baseline_loss, entropy, ratios.mean())
    np.testing.assert_allclose(metrics[:5], expected, rtol=1e-4)
    # Targets are constants.
    np.testing.assert_allclose(gradient, [baseline_cost * np.mean(v - targets)], rtol=1e-4)


@pytest.mark.slow
def test_block_every_changes_gradients_only():
    network = small()
    played = rollout(network)
    results = {}
    for block_every in (2, 6):
        settings = LearnerSettings(envs=4, rollout=12, slices=1, block_every=block_every, stagger=5)

        @quick_jit
        def both(network, settings=settings):
            return jax.value_and_grad(
                lambda net: _loss.slice_loss(
                    settings, net, played.memory, played.transitions, played.next_inputs, HYPER
                ),
                has_aux=True,
            )(network)

        results[block_every] = both(network)
    (one, gradients), (other, more) = results[2], results[6]
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_array_equal(a, b)
    # What only reads gets its gradients past the state: with a frozen writer, all that learns does
    # so alike, however early gradients are blocked. What writes does not.
    reads = jax.tree.map(lambda writes: not writes, network.writing())
    reading = [jax.tree.leaves(eqx.filter(grads, reads)) for grads in (gradients, more)]
    for a, b in zip(*reading, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.allclose(gradients.memory.write, more.memory.write, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("writer", ["learned", "frozen", "slow"])
def test_writers(writer):
    network = small(writer=writer)
    played = rollout(network)
    weights = _loss.init_weights(network, SETTINGS)
    after, metrics = quick_jit(functools.partial(_loss.learn, SETTINGS))(weights, played, HYPER)
    network, after, metrics = jax.device_get((network, after, metrics))
    writing = [eqx.filter(tree, network.writing()) for tree in (network, after.network)]
    moved = [np.abs(a - b).max() for a, b in zip(*map(jax.tree.leaves, writing), strict=True)]
    assert np.abs(network.policy.weight - after.network.policy.weight).max() > 1e-3
    # Two slices are two steps of Adam, each about the learning rate.
    match writer:
        case "learned":
            assert max(moved) == pytest.approx(2e-2, rel=0.1)
        case "frozen":
            assert not any(moved)
        case "slow":
            fast = jax.tree.leaves(after.learned)
            lead = [
                np.abs(a - b).max() for a, b in zip(fast, jax.tree.leaves(writing[0]), strict=True)
            ]
            assert max(lead) == pytest.approx(2e-2, rel=0.1)
            # After two steps the average has taken over about (1 + 2) of a thousandth.
            assert max(moved) == pytest.approx(3e-5, rel=0.15)
    assert np.isfinite(float(metrics.gradient_norm))


@pytest.mark.slow
@pytest.mark.parametrize("optimiser", ["adam", "rmsprop"])
def test_a_step_of_the_optimiser_is_its_formula_of_the_clipped_gradient(optimiser):
    """From m = v = 0, and with gradients so large that they are clipped."""
    settings = dataclasses.replace(SETTINGS, slices=1, optimiser=optimiser)
    network = small()
    played = rollout(network)
    rate, epsilon, most = 1e-2, 1e-6, 0.05
    values = hyper(learning_rate=rate, epsilon=epsilon, clip_norm=most)

    @quick_jit
    def gradients(network):
        parts = played.memory, played.transitions, played.next_inputs
        return jax.grad(lambda net: _loss.slice_loss(settings, net, *parts, values), has_aux=True)(
            network
        )[0]

    learn = quick_jit(functools.partial(_loss.learn, settings))
    after, metrics = learn(_loss.init_weights(network, settings), played, values)
    before, found, after = jax.device_get((network, gradients(network), after.network))
    leaves = [np.asarray(leaf, float) for leaf in jax.tree.leaves(found)]
    norm = np.sqrt(sum(np.sum(leaf**2) for leaf in leaves))
    assert norm > 2 * most
    assert float(metrics.gradient_norm) == pytest.approx(norm, rel=1e-4)
    ends = zip(jax.tree.leaves(before), jax.tree.leaves(after), leaves, strict=True)
    for begin, end, leaf in ends:
        g = leaf * most / norm
        scale = np.abs(g) + epsilon if optimiser == "adam" else np.sqrt(0.01 * g**2 + epsilon)
        np.testing.assert_allclose(end, begin - rate * g / scale, rtol=1e-4, atol=1e-6)


@pytest.mark.slow
def test_a_writer_rate_of_0_is_a_frozen_writer_and_1_is_the_rate_of_the_others():
    settings = dataclasses.replace(SETTINGS, slices=1)
    learn = quick_jit(functools.partial(_loss.learn, settings))

    def moves(writer, rate):
        """How all weights move in one step of the optimiser, and those that write among them."""
        network = small(writer=writer)
        # Nothing is clipped: gradients of a frozen writer would not count in the norm.
        values = hyper(writer_rate=rate, clip_norm=1e6)
        after, _ = learn(_loss.init_weights(network, settings), rollout(network), values)
        moved = jax.tree.map(np.subtract, *jax.device_get((after.network, network)))
        return [jax.tree.leaves(part) for part in eqx.partition(moved, network.writing())]

    (full, others), (half, also), (none, rest) = (moves("learned", r) for r in (1.0, 0.5, 0.0))
    frozen, still_others = moves("frozen", 1.0)
    for one, other, zero, also_zero in zip(full, half, none, frozen, strict=True):
        np.testing.assert_allclose(0.5 * one, other, rtol=1e-3, atol=1e-7)
        assert not zero.any()
        assert not also_zero.any()
    assert any(leaf.any() for leaf in full)
    for same in (also, rest, still_others):
        for a, b in zip(others, same, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-7)


@pytest.mark.slow
def test_groups_of_copies_and_epochs_are_learned_from_one_after_the_other():
    network = small()
    played = rollout(network)
    settings = dataclasses.replace(SETTINGS, minibatches=2, epochs=3)
    assert settings.optimiser_steps == 3 * 2 * 2
    at_once, _ = quick_jit(functools.partial(_loss.learn, settings))(
        _loss.init_weights(network, settings), played, HYPER
    )
    learn = quick_jit(functools.partial(_loss.learn, dataclasses.replace(SETTINGS, envs=2)))
    weights = _loss.init_weights(network, SETTINGS)
    for _ in range(3):
        for copies in (slice(0, 2), slice(2, 4)):
            part = Rollout(
                memory=played.memory[copies],
                transitions=jax.tree.map(lambda leaf, at=copies: leaf[:, at], played.transitions),
                next_inputs=jax.tree.map(lambda leaf, at=copies: leaf[at], played.next_inputs),
            )
            weights, _ = learn(weights, part, HYPER)
    for a, b in zip(*map(jax.tree.leaves, (at_once.network, weights.network)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("writer", ["learned", "frozen"])
def test_acting_and_learning_read_the_same_last_steps(writer):
    """With the weights that acted, every action has the probability that it had when it was taken;
    and what is read is the action and the reward of the step before, within the episode."""
    settings = LearnerSettings(envs=3, rollout=12, slices=1, block_every=2, stagger=5)
    params = ProbeParams(RECALL, 3)
    build = small_network("gru", writer=writer, read_last_step=True, logit_scale=3.0)
    learner = Impala(Probe(), params, build, settings)

    @quick_jit
    def play(key):
        state = learner.init(key)
        played = act(Probe(), params, state.weights.network, state.actors, 12, key)[1]
        return state, played, learner.update(state, hyper(learning_rate=0.0))[1]

    state, played, result = play(KEY)
    assert float(result.metrics.ratio) == pytest.approx(1.0, abs=1e-5)
    network, steps = state.weights.network, played.transitions
    inputs = steps.inputs if writer == "frozen" else network.embed(*steps.inputs)
    read = np.asarray(inputs)[..., :6]
    expected = np.concatenate([np.eye(5)[steps.action], steps.reward[..., None]], axis=-1)
    np.testing.assert_array_equal(read[1:], np.where(steps.start[1:, :, None], 0, expected[:-1]))
    assert not read[0].any()
    assert steps.start[1:].any()
    assert read[1:].any()


@pytest.mark.slow
def test_rewards_count_by_their_scale():
    network = small()
    played = rollout(network)
    transitions = played.transitions._replace(reward=4.0 * played.transitions.reward)
    weights = _loss.init_weights(network, SETTINGS)
    learn = quick_jit(functools.partial(_loss.learn, SETTINGS))
    plain, _ = learn(weights, played, HYPER)
    scaled, _ = learn(
        weights,
        played._replace(transitions=transitions),
        hyper(learning_rate=1e-2, reward_scale=0.25),
    )
    louder, _ = learn(weights, played._replace(transitions=transitions), HYPER)
    policies = [one.network.policy.weight for one in (plain, scaled, louder)]
    np.testing.assert_array_equal(policies[0], policies[1])
    assert not np.array_equal(policies[0], policies[2])


@pytest.mark.slow
def test_the_embedding_starts_as_its_mark_says():
    frames = jnp.eye(4, dtype=jnp.uint8)[:, None, None]
    plain, sparse, centred = (
        init_embedding(small(embedding=embedding), frames).torso
        for embedding in ("plain", "sparse", "centred")
    )
    np.testing.assert_array_equal(plain.weight, small().torso.weight)
    assert sparse.bias.any()
    assert not sparse.centre.any()
    np.testing.assert_array_equal(sparse.bias, centred.bias)
    assert centred.centre.any()


@pytest.mark.slow
def test_actors_use_the_weights_of_lag_updates_ago():
    settings = LearnerSettings(envs=4, rollout=12, slices=2, block_every=2, stagger=5, lag=2)
    learner = Impala(Probe(), PARAMS, lambda _: small(), settings)
    state = quick_jit(lambda key: learner.init(key))(KEY)
    update = quick_jit(learner.update)
    networks, ratios = [], []
    for _ in range(4):
        networks.append(state.weights.network)
        acting = _impala.acting_network(state)
        expected = networks[max(0, len(networks) - 3)]
        assert jax.tree.all(jax.tree.map(np.array_equal, acting, expected))
        state, result = update(state, HYPER)
        ratios.append(abs(float(result.metrics.ratio) - 1.0))
    assert not np.array_equal(networks[0].policy.weight, networks[1].policy.weight)
    # The learner's policy has moved on from the one that acted: V-trace has something to correct.
    assert min(ratios[2:]) > 2 * ratios[0]
    # The learning rate falls with the steps made: halved ten times after these 4 updates of 48.
    slow, _ = update(state, hyper(learning_rate=1e-2, lr_halvings_per_million_steps=10 / 192e-6))
    fast, _ = update(state, hyper(learning_rate=1e-2 / 1024))
    moved = slow.weights.network.policy.weight
    np.testing.assert_allclose(moved, fast.weights.network.policy.weight, rtol=1e-5)
    assert not np.array_equal(moved, state.weights.network.policy.weight)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"rollout": 100, "slices": 3}, "slices is 3: it must divide the rollout, which is 100"),
        ({"slices": 5, "block_every": 100}, "block_every is 100: it must be at most 60"),
        ({"envs": 8, "minibatches": 3}, "minibatches is 3: it must divide envs, which is 8"),
        ({"epochs": 0}, "epochs is 0: it must be 1 to 100000"),
        ({"horizon": 61}, "horizon is 61: it must be at most 60"),
        ({"lag": -1}, "lag is -1: it must be 0 to 1000"),
        ({"envs": 0}, "envs is 0: it must be 1 to 100000"),
        ({"optimiser": "sgd"}, "optimiser is 'sgd': it must be one of 'adam', 'rmsprop'"),
    ],
)
def test_settings_that_cannot_be_are_refused(setting, message, unchecked_types):
    with pytest.raises(ValueError, match=message):
        LearnerSettings(**setting)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"discount": 1.5}, "discount is 1.5: it must be finite and at least 0 and at most 1"),
        ({"epsilon": 0.0}, "epsilon is 0.0: it must be finite and above 0"),
        ({"learning_rate": -1.0}, "learning_rate is -1.0: it must be finite and at least 0"),
    ],
)
def test_hyper_parameters_that_cannot_be_are_refused(values, message, unchecked_types):
    with pytest.raises(ValueError, match=message):
        HyperParams(**values)
