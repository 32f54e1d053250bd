"""Training: the fast learner is the reference, a group is its runs, resumed is uninterrupted."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from longpass.records import Checkpoints, InMemory, train_run
from longpass.streams import (
    LearnerName,
    StreamSettings,
    StreamTraining,
    WeightLayout,
    checkpoint_shape,
    choose_learner,
    init_reference,
    learn_reference,
    make_network,
    make_task,
    start_stream,
)
from longpass.streams import _group as group_module
from longpass.streams import _training as training_module
from longpass.streams._group import StreamPurpose, make_shape, start_streams
from longpass.streams._learners import CompiledSource
from longpass.streams._network import RatelessPools, remove_rates
from longpass.streams._update import GroupShape, draw_symbols
from tests.helpers import given

# Every test here compiles a program that learns; native ones take longest, and are kept for others.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("native")]

SMALL = StreamSettings(
    batch_size=3, learning_rate=3e-3, epsilon=1e-4, hidden_size=5, seed=4, truncation=8
)
POOLED = dataclasses.replace(SMALL, pool_size=9, num_pools=4, viewport_size=3, base=1.7)
PARALLEL = dataclasses.replace(POOLED, memory="parallel")
LSTM = dataclasses.replace(SMALL, memory="lstm", state_size=6)
GRU = dataclasses.replace(LSTM, memory="gru")
CLEARED = {"task": "three-markers", "truncation": 120, "clear_state": True}
# Every memory on every task; truncations below and above a sequence; states cleared and not.
CASES = {
    "chain": POOLED,
    # Slow pools, in which a sequence that was not cleared would still show at the next label.
    "chain, three-markers": dataclasses.replace(POOLED, base=3.0, **CLEARED),
    "chain, subsequences": dataclasses.replace(POOLED, task="subsequences", normalise="layer"),
    "parallel": dataclasses.replace(PARALLEL, truncation=2),
    "parallel, three-markers": dataclasses.replace(PARALLEL, task="three-markers", truncation=120),
    "parallel, subsequences": dataclasses.replace(PARALLEL, task="subsequences", clear_state=True),
    "lstm": LSTM,
    "lstm, three-markers": dataclasses.replace(LSTM, **CLEARED),
    "lstm, subsequences": dataclasses.replace(LSTM, task="subsequences"),
    "gru": dataclasses.replace(GRU, truncation=2),
    "gru, three-markers": dataclasses.replace(GRU, **CLEARED),
    "gru, subsequences": dataclasses.replace(GRU, task="subsequences"),
}


def train_blocks(training, blocks):
    for _ in range(blocks):
        training.learn_block()


def train_all(settings, dtype=jnp.float32, learner=None):
    """A training that is complete, and its scores."""
    training = StreamTraining(settings, dtype=dtype, learner=learner)
    train_run(training, InMemory())
    return training, training.scores()


def train_by_reference(settings, blocks, dtype):
    """(Weights before, learner after some blocks of symbols, losses) by the definition."""
    settings = settings.resolved()
    network = make_network(settings, dtype)
    shape = make_shape([settings])
    source = CompiledSource(shape, start_streams([settings], shape, StreamPurpose.TRAINING))
    learner = init_reference(network, settings.batch_size)
    first = learner.weights
    losses = []
    for _ in range(blocks):
        learner, more = learn_reference(
            WeightLayout.of(network),
            settings.truncation,
            settings.clear_state,
            learner,
            jnp.asarray(settings.learning_rate, dtype),
            jnp.asarray(settings.epsilon, dtype),
            jax.tree.map(lambda leaf: leaf[0], source.take()),
        )
        losses.append(np.asarray(more))
    return first, learner, np.concatenate(losses)


def assert_same_bits(mine, theirs):
    for x, y in zip(jax.tree.leaves(mine), jax.tree.leaves(theirs), strict=True):
        if jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
            x, y = jax.random.key_data(x), jax.random.key_data(y)
        assert x.dtype == y.dtype
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("case", CASES)
def test_the_fast_learner_is_the_reference(case):
    """Equal weights after a hundred updates of Adam and more: equal losses and gradients."""
    settings = dataclasses.replace(CASES[case], symbols=10**6)
    blocks = 2 if settings.truncation < 100 else 12
    first, reference, losses = train_by_reference(settings, blocks, jnp.float64)
    moved = np.abs(reference.weights - first).max()
    assert moved > 1e-2
    learners: set[LearnerName] = {"jax", choose_learner(settings)}
    for learner in learners:
        training = StreamTraining([settings], learner=learner, dtype=jnp.float64)
        np.testing.assert_allclose(training.learner.weights[0], first, rtol=0, atol=1e-14)
        train_blocks(training, blocks)
        assert training.updates == len(losses) >= 96
        np.testing.assert_allclose(
            training.learner.weights[0], reference.weights, rtol=0, atol=1e-9 * moved
        )
        ours, theirs = (jax.tree.leaves(one.memory) for one in (training.learner, reference))
        for mine, other in zip(ours, theirs, strict=True):
            mine = mine[0].swapaxes(0, 1) if settings.has_pools else mine[0]
            np.testing.assert_allclose(mine, other, rtol=0, atol=1e-9)


def test_in_single_precision_it_is_close():
    settings = dataclasses.replace(POOLED, symbols=10**6)
    _, reference, _ = train_by_reference(settings, 2, jnp.float32)
    training = StreamTraining([settings])
    train_blocks(training, 2)
    weights = training.learner.weights[0]
    assert weights.dtype == jnp.float32
    np.testing.assert_allclose(weights, reference.weights, atol=1e-3)


def test_more_labels_than_slots_are_all_learned_from(monkeypatch):
    """Streams in step have their labels at the same steps, where there is room for few."""
    settings = dataclasses.replace(POOLED, batch_size=12, symbols=10**6)

    def start_in_step(task, key):
        return start_stream(task, jax.random.key(0))

    monkeypatch.setattr(group_module, "start_stream", start_in_step)
    jax.clear_caches()
    try:
        _, reference, _ = train_by_reference(settings, 1, jnp.float64)
        training = StreamTraining([settings], learner="jax", dtype=jnp.float64)
        train_blocks(training, 1)
        assert training.shape.slots < settings.batch_size
        assert training.learner.tally.sequences[0] % settings.batch_size == 0
        np.testing.assert_allclose(training.learner.weights[0], reference.weights, atol=1e-9)
    finally:
        jax.clear_caches()


def test_a_network_without_rates_cannot_be_unrolled():
    """Runs of a group share a network, but not the rates of its pools."""
    settings = POOLED.resolved()
    network = make_network(settings, jnp.float32)
    rateless = remove_rates(network)
    assert isinstance(rateless.memory, RatelessPools)
    assert_same_bits(rateless, network)
    symbols = jnp.zeros((4, 8), jnp.float32)
    network.unroll(network.memory.initial_state(), symbols)
    for name in ("unroll", "step", "initial_state"):
        with pytest.raises(AttributeError, match=name):
            getattr(rateless.memory, name)
    with pytest.raises(AttributeError, match="unroll"):
        rateless.unroll(network.memory.initial_state(), symbols)


def test_pools_of_all_rates_share_one_program():
    settings = [dataclasses.replace(POOLED, base=base).resolved() for base in (1.5, 2.0, 3.0)]
    networks = [make_network(one, jnp.float32) for one in settings]
    assert len({WeightLayout.of(network) for network in networks}) == 3
    assert len({WeightLayout.of(remove_rates(network)) for network in networks}) == 1


@pytest.fixture
def few_held_out(monkeypatch):
    """Accuracy is measured on fewer sequences than usual."""
    monkeypatch.setattr(training_module, "HELD_OUT", 320)


@pytest.mark.parametrize("memory", ["chain", "lstm"])
def test_a_group_is_its_runs(memory, few_held_out):
    """Runs of one shape differ in seed, learning rate, epsilon and base."""
    one = dataclasses.replace(
        POOLED if memory == "chain" else LSTM, truncation=16, batch_size=4, symbols=64 * 256
    )
    other = dataclasses.replace(one, seed=2, learning_rate=1e-2, epsilon=1e-3)
    if memory == "chain":
        other = dataclasses.replace(other, base=3.0)
    runs = [one, other, dataclasses.replace(one, learning_rate=1e-5)]
    together, scores = train_all(runs, jnp.float64, learner="jax")
    for n, run in enumerate(runs):
        alone, (score,) = train_all([run], jnp.float64, learner="jax")
        np.testing.assert_allclose(
            together.learner.weights[n], alone.learner.weights[0], rtol=1e-9, atol=1e-12
        )
        assert score.accuracy == pytest.approx(scores[n].accuracy)
        assert score.sequences == scores[n].sequences
        np.testing.assert_allclose(np.array(score.curve), np.array(scores[n].curve))
    with pytest.raises(ValueError, match="must differ in seed, learning_rate, epsilon and base"):
        StreamTraining([one, dataclasses.replace(one, hidden_size=6)])


@pytest.mark.parametrize("memory", ["chain", "gru"])
def test_a_resumed_training_is_one_that_was_never_stopped(memory, tmp_path, few_held_out):
    settings = dataclasses.replace(
        POOLED if memory == "chain" else CASES["gru, subsequences"], symbols=3 * 8 * 5 * 128
    )
    uninterrupted = StreamTraining([settings])
    train_blocks(uninterrupted, 5)
    stopped = StreamTraining([settings])
    train_blocks(stopped, 2)
    Checkpoints(tmp_path).save(stopped.checkpoint, {})
    checkpoint, _ = Checkpoints(tmp_path).load(checkpoint_shape([settings]), {})
    resumed = StreamTraining([settings], checkpoint)
    assert resumed.updates == 2 * 128
    assert resumed.seconds >= float(checkpoint[1])
    train_blocks(resumed, 3)
    assert_same_bits(resumed.checkpoint[0], uninterrupted.checkpoint[0])
    assert resumed.scores() == uninterrupted.scores()


def test_shapes_of_a_checkpoint_are_those_of_a_training():
    for settings in (POOLED, LSTM):
        shapes, _ = checkpoint_shape([settings])
        state, _ = StreamTraining([settings]).checkpoint
        assert jax.tree.structure(shapes) == jax.tree.structure(state)
        for mine, theirs in zip(jax.tree.leaves(shapes), jax.tree.leaves(state), strict=True):
            assert isinstance(mine, jax.ShapeDtypeStruct)
            assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype)


def test_a_run_ends_after_whole_minibatches_and_no_later(few_held_out):
    settings = dataclasses.replace(POOLED, symbols=3 * 8 * 130 + 23)
    training, (score,) = train_all([settings])
    assert training.done
    assert training.updates == 130
    assert score.symbols == 3 * 8 * 130
    assert len(score.curve) == 20
    assert None not in score.curve
    before = np.array(training.learner.weights)
    train_blocks(training, 1)
    np.testing.assert_array_equal(training.learner.weights, before)


def test_a_run_that_diverges_is_recorded_and_spoils_no_other(few_held_out):
    wild = dataclasses.replace(POOLED, learning_rate=1e38, symbols=3 * 8 * 256, base=2.0)
    tame = dataclasses.replace(wild, learning_rate=1e-3)
    _, (first, second) = train_all([wild, tame])
    assert 0 < given(first.diverged) < 256
    assert first.accuracy is None
    assert first.smoothed_accuracy is None
    assert second.diverged is None
    assert 0 <= given(second.accuracy) <= 1
    alone, _ = train_all([wild])
    assert alone.done
    assert alone.updates < 256 + 128


def test_held_out_sequences_change_nothing_and_are_counted_exactly():
    training, (first,) = train_all([dataclasses.replace(POOLED, symbols=3 * 8 * 64)])
    before = np.array(training.learner.weights)
    assert training.scores() == [first]
    np.testing.assert_array_equal(training.learner.weights, before)
    accuracy = given(first.accuracy)
    assert (accuracy * 2560) % 1 == pytest.approx(0, abs=1e-3)
    # An untrained network is at chance: within five standard deviations of 1/4.
    assert abs(accuracy - 0.25) < 5 * np.sqrt(0.25 * 0.75 / 2560)


def test_slots_are_enough_nearly_always():
    task = make_task("two-markers")
    keys = jax.random.split(jax.random.key(0), (1, 128))
    cursors = jax.jit(jax.vmap(jax.vmap(lambda key: start_stream(task, key))))(keys)
    _, stream = draw_symbols(task, 4096, cursors)
    labelled = np.asarray(stream.labels[0]) >= 0
    for truncation, batch in [(1, 1), (2, 4), (16, 32), (128, 8), (256, 128)]:
        shape = GroupShape(task, truncation, batch, False)
        assert 1 <= shape.slots <= shape.segments * batch
        assert shape.segments == -(-truncation // 100)
        assert shape.steps % truncation == 0
        counts = labelled[:, :batch].reshape(-1, truncation * batch).sum(1)
        assert np.mean(counts > shape.slots) < 0.02
