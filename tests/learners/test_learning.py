"""What the learner does with states, starts, gradients, old weights and writers."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from longpass.learners import (
    AgentSettings,
    Hyper,
    Impala,
    Moment,
    Rollout,
    _acting,
    _impala,
    _learning,
)
from longpass.memory import AbstractMemory
from longpass.networks import ActorCritic
from tests.helpers import QUICK_COMPILE
from tests.learners.probes import RECALL, Clock, Probe, ProbeParams

KEY = jax.random.key(0)
quick_jit = functools.partial(jax.jit, compiler_options=QUICK_COMPILE)


class Counter(AbstractMemory):
    """Counts the frames since the last start (if it heeds starts); reads the clock beside it."""

    heeds_starts: bool = eqx.field(static=True, default=True)
    input_size: int = eqx.field(static=True, default=1)
    dtype: object = eqx.field(static=True, default=jnp.dtype(jnp.float32))

    @property
    def output_shape(self):
        return (2,)

    def initial_state(self):
        return jnp.zeros((), jnp.float32)

    def step(self, state, x, start=False):
        count = 1.0 + (jnp.where(start, 0.0, state) if self.heeds_starts else state)
        return count, jnp.stack([count, x[0]])

    def unroll(self, state, xs, starts=None, block_every=None):
        assert starts is not None
        return jax.lax.scan(lambda state, inputs: self.step(state, *inputs), state, (xs, starts))


class Dial(eqx.Module):
    """A torso that reads the clock off the board."""

    def __call__(self, frames):
        return jnp.argmax(frames[..., 0, 0, :], axis=-1)[..., None].astype(jnp.float32)


def counting_network(reads, heeds_starts=True):
    """A network whose value is `reads` times (frames counted, frames on the clock)."""
    network = ActorCritic("lstm", (1, 1, 8), size=2, key=KEY)
    value = jnp.asarray(reads, jnp.float32)[None]
    return eqx.tree_at(
        lambda net: (net.torso, net.memory, net.value.weight),
        network,
        (Dial(), Counter(heeds_starts), value),
    )


def counted(**options):
    """(Training, baseline losses) of some updates at a learning rate of 0, which pay nothing."""
    settings = AgentSettings(envs=3, rollout=10, slices=2, block_every=2, stagger=9)
    learner = Impala(
        Clock(), ProbeParams(0, 7), lambda key: counting_network([1.0, -1.0], **options), settings
    )
    hyper = Hyper(learning_rate=0.0, discount=0.0, entropy_cost=0.0)

    @quick_jit
    def run(key):
        state = learner.init(key)
        return jax.lax.scan(lambda state, _: learner.update(state, hyper), state, length=5)

    state, told = run(KEY)
    # Copies begin in the middle of episodes that nobody counted: leave those out.
    return state, told.metrics.baseline_loss[1:]


@pytest.mark.slow
def test_a_counting_memory_counts_every_frame_of_every_episode():
    """The memory's count is the clock's, in acting and in learning, across rollouts, slices and
    starts inside them. The value is their difference, which is 1 everywhere: the memory counts a
    frame when it reads it, the clock shows those before."""
    state, losses = counted()
    np.testing.assert_array_equal(losses, 0.5)
    waiting = np.asarray(state.actors.memory)
    clock = np.asarray(jnp.argmax(state.actors.frame[:, 0, 0], axis=-1))
    np.testing.assert_array_equal(np.where(state.actors.start, 0, waiting), clock)


@pytest.mark.slow
def test_the_counting_probe_can_fail():
    """Without heed of starts the same probe finds a difference."""
    _, losses = counted(heeds_starts=False)
    assert np.all(losses > 1.0)


@pytest.mark.slow
def test_a_truncated_end_is_worth_its_last_frame():
    """The last frame of an episode that ran out of time is read in its own episode's memory."""
    settings = AgentSettings(envs=3, rollout=10, slices=1, block_every=2, stagger=9)
    params = ProbeParams(0, 7, True)
    learner = Impala(Clock(), params, lambda key: counting_network([1.0, 1.0]), settings)

    @quick_jit
    def play(key):
        state = learner.init(key)
        return _acting.act(Clock(), params, state.weights.network, state.actors, 30, key)[1].moments

    moments = play(KEY)
    seen_whole = np.cumsum(moments.truncated, axis=0) > 1
    ends = moments.truncated & seen_whole
    assert ends.sum() > 5
    # It is the eighth frame counted, and the clock shows 7.
    np.testing.assert_array_equal(moments.last_value[ends], 15.0)
    assert not moments.last_value[~moments.truncated].any()
    assert not moments.terminated.any()


SIZES = {"pools": 3, "pool_size": 8, "viewport_size": 4, "summary_size": 8, "size": 8}
HYPER = Hyper(learning_rate=1e-2)


def small(**more):
    return ActorCritic("chain", (1, 1, 4), **SIZES, **more, key=KEY)


PARAMS = ProbeParams(RECALL, 5)
SETTINGS = AgentSettings(envs=4, rollout=12, slices=2, block_every=2, stagger=5)


def rollout(network):
    """A rollout of 12 steps of 4 copies, made up."""
    rng = np.random.default_rng(0)
    frames = jnp.eye(4, dtype=jnp.uint8)[rng.integers(0, 4, (13, 4))][:, :, None, None]
    seen = network.embed(frames) if network.writer == "frozen" else frames
    flags = jnp.asarray(rng.random((3, 12, 4)) < 0.15)
    moments = Moment(
        seen[:-1],
        flags[0],
        jnp.asarray(rng.integers(0, 5, (12, 4)), jnp.int32),
        jnp.full((12, 4), -np.log(5.0), jnp.float32),
        jnp.asarray(rng.normal(size=(12, 4)), jnp.float32),
        flags[1],
        flags[2] & ~flags[1],
        jnp.zeros((12, 4), jnp.float32),
        jnp.full((12, 4), jnp.nan, jnp.float32),
    )
    memory = jnp.asarray(rng.normal(size=(4, 3, 8)), jnp.float32)
    return Rollout(memory, moments, seen[-1])


@pytest.mark.slow
def test_block_every_changes_gradients_only():
    network = small()
    played = rollout(network)
    results = {}
    for block_every in (2, 6):
        settings = AgentSettings(envs=4, rollout=12, slices=1, block_every=block_every, stagger=5)

        @quick_jit
        def both(network, settings=settings):
            return jax.value_and_grad(
                lambda net: _learning.slice_loss(
                    settings, net, played.memory, played.moments, played.seen_next, HYPER
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
    weights = _learning.begin(network, SETTINGS)
    after, metrics = quick_jit(functools.partial(_learning.learn, SETTINGS))(weights, played, HYPER)
    writing = [eqx.filter(tree, network.writing()) for tree in (network, after.network)]
    moved = [
        float(jnp.abs(a - b).max()) for a, b in zip(*map(jax.tree.leaves, writing), strict=True)
    ]
    assert float(jnp.abs(network.policy.weight - after.network.policy.weight).max()) > 1e-3
    # Two slices are two steps of Adam, each about the learning rate.
    match writer:
        case "learned":
            assert max(moved) == pytest.approx(2e-2, rel=0.1)
        case "frozen":
            assert not any(moved)
        case "slow":
            fast = jax.tree.leaves(after.learned)
            lead = [
                float(jnp.abs(a - b).max())
                for a, b in zip(fast, jax.tree.leaves(writing[0]), strict=True)
            ]
            assert max(lead) == pytest.approx(2e-2, rel=0.1)
            # After two steps the average has taken over about (1 + 2) of a thousandth.
            assert max(moved) == pytest.approx(3e-5, rel=0.15)
    assert np.isfinite(float(metrics.gradient_norm))


@pytest.mark.slow
def test_rewards_count_by_their_scale():
    network = small()
    played = rollout(network)
    moments = played.moments._replace(reward=4.0 * played.moments.reward)
    weights = _learning.begin(network, SETTINGS)
    learn = quick_jit(functools.partial(_learning.learn, SETTINGS))
    plain, _ = learn(weights, played, HYPER)
    scaled, _ = learn(
        weights, played._replace(moments=moments), Hyper(learning_rate=1e-2, reward_scale=0.25)
    )
    louder, _ = learn(weights, played._replace(moments=moments), HYPER)
    policies = [one.network.policy.weight for one in (plain, scaled, louder)]
    np.testing.assert_array_equal(policies[0], policies[1])
    assert not jnp.array_equal(policies[0], policies[2])


@pytest.mark.slow
def test_the_embedding_starts_as_its_mark_says():
    frames = jnp.eye(4, dtype=jnp.uint8)[:, None, None]
    plain, sparse, centred = (
        _impala.prepared(small(embedding=embedding), frames).torso
        for embedding in ("plain", "sparse", "centred")
    )
    np.testing.assert_array_equal(plain.weight, small().torso.weight)
    assert sparse.bias.any()
    assert not sparse.centre.any()
    np.testing.assert_array_equal(sparse.bias, centred.bias)
    assert centred.centre.any()


@pytest.mark.slow
def test_actors_use_the_weights_of_lag_updates_ago():
    settings = AgentSettings(envs=4, rollout=12, slices=2, block_every=2, stagger=5, lag=2)
    learner = Impala(Probe(), PARAMS, lambda _: small(), settings)
    state = quick_jit(lambda key: learner.init(key))(KEY)
    update = quick_jit(learner.update)
    networks, ratios = [], []
    for _ in range(4):
        networks.append(state.weights.network)
        acting = _impala.actor(state)
        expected = networks[max(0, len(networks) - 3)]
        assert jax.tree.all(jax.tree.map(jnp.array_equal, acting, expected))
        state, told = update(state, HYPER)
        ratios.append(abs(float(told.metrics.ratio) - 1.0))
    assert not jnp.array_equal(networks[0].policy.weight, networks[1].policy.weight)
    # The learner's policy has moved on from the one that acted: V-trace has something to correct.
    assert min(ratios[2:]) > 2 * ratios[0]
    # The learning rate falls with the steps made: halved ten times after these 4 updates of 48.
    slow, _ = update(state, Hyper(learning_rate=1e-2, halvings=10 / 192e-6))
    fast, _ = update(state, Hyper(learning_rate=1e-2 / 1024))
    moved = slow.weights.network.policy.weight
    np.testing.assert_allclose(moved, fast.weights.network.policy.weight, rtol=1e-5)
    assert not jnp.array_equal(moved, state.weights.network.policy.weight)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"rollout": 100, "slices": 3}, "slices is 3: it must divide the rollout, which is 100"),
        ({"slices": 5, "block_every": 100}, "block_every is 100: it must be at most 60"),
        ({"horizon": 61}, "horizon is 61: it must be 1 to 60"),
        ({"lag": -1}, "lag is -1: it must be at least 0"),
        ({"envs": 0}, "envs is 0: it must be at least 1"),
        ({"optimiser": "sgd"}, "optimiser is 'sgd': it must be one of 'adam', 'rmsprop'"),
    ],
)
def test_settings_that_cannot_be_are_refused(setting, message, unchecked_types):
    with pytest.raises(ValueError, match=message):
        AgentSettings(**setting)


@pytest.mark.parametrize(
    ("hyper", "message"),
    [
        ({"discount": 1.5}, "discount is 1.5: it must be 0 to 1"),
        ({"epsilon": 0.0}, "epsilon is 0.0: it must be finite and above 0"),
        ({"learning_rate": -1.0}, "learning_rate is -1.0: it must be finite and at least 0"),
    ],
)
def test_hyper_parameters_that_cannot_be_are_refused(hyper, message, unchecked_types):
    with pytest.raises(ValueError, match=message):
        Hyper(**hyper)
