"""The fast learner is the plain one, a group is its runs, and a run goes on as if never stopped."""

import dataclasses
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from longpass import tasks
from longpass.learners import Group, Layout, PlainLearner, StreamSettings, make_network, plain_learn
from longpass.learners import _group as group_module
from longpass.learners._forms import Slots
from longpass.learners._truncated import IN_A_ROW, Shape, Until, _count, draw, new_tally
from longpass.results import Checkpoints
from tests.helpers import given

pytestmark = pytest.mark.slow
SMALL = StreamSettings(batch_size=3, learning_rate=3e-3, epsilon=1e-4, M=5, seed=4, truncation=8)
POOLED = dataclasses.replace(SMALL, D=9, k=4, V=3, b=1.7)
CASES = {
    "chain": POOLED,
    "chain, long and cleared": dataclasses.replace(
        # Slow pools, in which a sequence that was not cleared would still show at the next label.
        POOLED,
        task="three-markers",
        truncation=120,
        clear_state=True,
        b=3.0,
    ),
    "chain, normalised": dataclasses.replace(POOLED, task="subsequences", normalise="layer"),
    "parallel": dataclasses.replace(POOLED, memory="parallel", truncation=2),
    "parallel, cleared": dataclasses.replace(
        POOLED, memory="parallel", task="subsequences", clear_state=True
    ),
    "parallel, long": dataclasses.replace(
        POOLED, memory="parallel", task="three-markers", truncation=120
    ),
    "lstm": dataclasses.replace(SMALL, memory="lstm", D=6),
    "lstm, long and cleared": dataclasses.replace(
        SMALL, memory="lstm", D=6, task="three-markers", truncation=120, clear_state=True
    ),
    "lstm, subsequences": dataclasses.replace(SMALL, memory="lstm", D=6, task="subsequences"),
    "gru": dataclasses.replace(SMALL, memory="gru", D=6, task="subsequences"),
}


def run_blocks(group, blocks):
    for _ in range(blocks):
        group.state = group._block(group.state, group._hyper, group._until)


def plainly(settings, blocks, dtype):
    """The weights after so many blocks, by the definition; and the losses."""
    settings = settings.resolved()
    network = make_network(settings, dtype)
    group = Group([settings], dtype)  # for its streams and its first weights only
    learner, cursors = group.state
    memory = jax.tree.map(
        lambda leaf: jnp.zeros((settings.batch_size, *leaf.shape), leaf.dtype),
        network.memory.initial_state(),
    )
    weights = learner.weights[0]
    plain = PlainLearner(weights, optax.adam(1.0).init(weights), memory)
    losses = []
    for _ in range(blocks):
        cursors, stream = draw(group.shape.task, group.shape.steps, cursors)
        plain, more = plain_learn(
            Layout.of(network),
            settings.truncation,
            settings.clear_state,
            plain,
            jnp.asarray(settings.learning_rate, dtype),
            jnp.asarray(settings.epsilon, dtype),
            jax.tree.map(lambda leaf: leaf[0], stream),
        )
        losses.append(np.asarray(more))
    return weights, plain, np.concatenate(losses)


@pytest.mark.parametrize("case", CASES)
def test_the_fast_learner_is_the_plain_one(case):
    settings = dataclasses.replace(CASES[case], symbols=10**6)
    blocks = 2 if settings.truncation < 100 else 12  # hundreds of updates, or a hundred long ones
    first, plain, losses = plainly(settings, blocks, jnp.float64)
    group = Group([settings], jnp.float64)
    run_blocks(group, blocks)
    learner, _ = group.state
    assert group.updates == len(losses) >= 96
    moved = np.abs(plain.weights - first).max()
    assert moved > 1e-2
    np.testing.assert_allclose(learner.weights[0], plain.weights, atol=1e-9 * moved)
    ours = jax.tree.leaves(learner.memory)
    for mine, theirs in zip(ours, jax.tree.leaves(plain.memory), strict=True):
        mine = mine[0].swapaxes(0, 1) if settings.memory in ("chain", "parallel") else mine[0]
        np.testing.assert_allclose(mine, theirs, atol=1e-9)


def test_in_single_precision_it_is_close():
    settings = dataclasses.replace(POOLED, symbols=10**6)
    _, plain, _ = plainly(settings, 2, jnp.float32)
    group = Group([settings])
    run_blocks(group, 2)
    weights = group.state[0].weights[0]
    assert weights.dtype == jnp.float32
    np.testing.assert_allclose(weights, plain.weights, atol=1e-3)


def test_more_labels_than_slots_are_all_learned_from(monkeypatch):
    """Streams in step make every label come at once, where room is for few."""
    settings = dataclasses.replace(POOLED, batch_size=12, symbols=10**6)
    monkeypatch.setattr(
        group_module, "begin", lambda task, key: tasks.begin(task, jax.random.key(0))
    )
    streams = cast(Any, group_module._begin_streams)
    streams.clear_cache()
    try:
        _, plain, _ = plainly(settings, 1, jnp.float64)
        group = Group([settings], jnp.float64)
        run_blocks(group, 1)
        assert group.shape.slots < settings.batch_size
        assert group.state[0].tally.sequences[0] % settings.batch_size == 0
        np.testing.assert_allclose(group.state[0].weights[0], plain.weights, atol=1e-9)
    finally:
        streams.clear_cache()


@pytest.mark.parametrize("memory", ["chain", "lstm"])
def test_a_group_is_its_runs(memory):
    """Runs of one shape differ in seed, learning rate, epsilon and base."""
    one = StreamSettings(memory=memory, truncation=16, batch_size=4, M=5, symbols=64 * 512, D=6)
    other = dataclasses.replace(one, seed=2, learning_rate=1e-2, epsilon=1e-3)
    if memory == "chain":
        one = dataclasses.replace(one, k=4, V=3)
        other = dataclasses.replace(other, k=4, V=3, b=1.5)
    one = dataclasses.replace(one, seed=1, learning_rate=1e-3, epsilon=1e-6)
    runs = [one, other, dataclasses.replace(one, learning_rate=1e-5)]
    together = Group(runs, jnp.float64)
    together.advance(1e9)
    scores = together.finish()
    for n, one in enumerate(runs):
        alone = Group([one], jnp.float64)
        alone.advance(1e9)
        np.testing.assert_allclose(
            together.state[0].weights[n], alone.state[0].weights[0], rtol=1e-9, atol=1e-12
        )
        (score,) = alone.finish()
        assert score.accuracy == pytest.approx(scores[n].accuracy)
        assert score.sequences == scores[n].sequences
        np.testing.assert_allclose(np.array(score.curve), np.array(scores[n].curve))
    with pytest.raises(ValueError, match="one shape"):
        Group([runs[0], dataclasses.replace(runs[0], M=6)])


@pytest.mark.parametrize("memory", ["chain", "gru"])
def test_a_run_put_back_goes_on_as_if_never_stopped(memory, tmp_path):
    settings = dataclasses.replace(
        POOLED if memory == "chain" else CASES["gru"], symbols=3 * 8 * 5 * 128
    )
    whole = Group([settings])
    run_blocks(whole, 5)
    stopped = Group([settings])
    run_blocks(stopped, 2)
    Checkpoints(tmp_path).save(stopped.state, {})
    resumed = Group([settings])
    resumed.state, _ = Checkpoints(tmp_path).load(resumed.state, {})
    assert resumed.updates == 2 * 128
    run_blocks(resumed, 3)
    for mine, theirs in zip(
        jax.tree.leaves(resumed.state), jax.tree.leaves(whole.state), strict=True
    ):
        if jnp.issubdtype(mine.dtype, jax.dtypes.prng_key):
            mine, theirs = jax.random.key_data(mine), jax.random.key_data(theirs)
        np.testing.assert_array_equal(mine, theirs)
    assert resumed.finish() == whole.finish()


def test_a_run_ends_after_whole_minibatches_and_no_later():
    settings = dataclasses.replace(POOLED, symbols=3 * 8 * 130 + 23)
    group = Group([settings])
    group.advance(1e9)
    assert group.done
    assert group.updates == 130
    (score,) = group.finish()
    assert score.symbols == 3 * 8 * 130
    assert len(score.curve) == 100
    assert None not in score.curve
    before = np.array(group.state[0].weights)
    run_blocks(group, 1)
    np.testing.assert_array_equal(group.state[0].weights, before)


def test_a_run_that_diverges_says_when_and_spoils_no_other():
    wild = dataclasses.replace(POOLED, learning_rate=1e38, symbols=3 * 8 * 256, b=2.0)
    tame = dataclasses.replace(wild, learning_rate=1e-3)
    group = Group([wild, tame])
    group.advance(1e9)
    first, second = group.finish()
    assert first.diverged is not None
    assert 0 < first.diverged < 256
    assert first.accuracy is None
    assert first.smoothed_accuracy is None
    assert second.diverged is None
    assert 0 <= given(second.accuracy) <= 1
    alone = Group([wild])
    alone.advance(1e9)
    assert alone.done
    assert alone.updates < 256 + 128


def test_held_out_sequences_change_nothing_and_are_counted_exactly():
    group = Group([dataclasses.replace(POOLED, symbols=3 * 8 * 64)])
    group.advance(1e9)
    before = np.array(group.state[0].weights)
    (first,) = group.finish()
    np.testing.assert_array_equal(group.state[0].weights, before)
    assert first == group.finish()[0]
    accuracy = given(first.accuracy)
    assert (accuracy * 2560) % 1 == pytest.approx(0, abs=1e-3)
    # An untrained network is at chance: within five standard deviations of 1/4.
    assert abs(accuracy - 0.25) < 5 * np.sqrt(0.25 * 0.75 / 2560)


def count(tally, outcomes, valid=None, limit=10**6):
    """Count outcomes: right and sure, right and unsure, or wrong."""
    logits = {"sure": (5.0, 0.0), "unsure": (0.5, 0.0), "wrong": (0.0, 5.0)}
    rows = jnp.array([logits[outcome] for outcome in outcomes])
    valid = jnp.ones(len(outcomes), bool) if valid is None else jnp.array(valid)
    zeros = jnp.zeros(len(outcomes), jnp.int32)
    until = Until(jnp.int32(10**6), jnp.int32(limit))
    return _count(tally, rows, Slots(zeros, zeros, zeros, valid), until)


def test_the_smoother_takes_results_one_by_one():
    outcomes = ["sure", "wrong", "unsure", "wrong", "sure"]
    valid = [True, True, False, True, True]
    tally = count(new_tally(2, jnp.float64), outcomes, valid)
    expected = 0.5
    for outcome, counts in zip(outcomes, valid, strict=True):
        if counts:
            expected = 0.98 * expected + 0.02 * (outcome != "wrong")
    assert tally.smoothed == pytest.approx(expected)
    assert tally.sequences == 4
    assert tally.right == 2


def test_only_the_first_sequences_count_for_the_held_out_score():
    tally = count(new_tally(2, jnp.float64), ["sure", "wrong", "sure", "sure"], limit=3)
    assert tally.right == 2
    assert count(tally, ["sure"], limit=3).right == 2


def test_the_criterion_wants_2000_in_a_row_and_says_after_how_many():
    tally = count(new_tally(2, jnp.float64), ["sure", "sure", "unsure", "sure"])
    assert tally.streak == 1
    tally = tally._replace(streak=jnp.int32(IN_A_ROW - 3), sequences=jnp.int32(5000))
    assert count(tally, ["sure", "sure", "wrong"]).criterion == -1
    met = count(tally, ["sure", "sure", "sure", "wrong", "sure"])
    assert met.criterion == 5003
    assert met.streak == 1
    assert count(met, ["sure"]).criterion == 5003
    assert count(tally, ["sure"] * 4, [True, False, True, True]).criterion == 5003


def test_slots_are_enough_nearly_always():
    task = tasks.make("two-markers")
    keys = jax.random.split(jax.random.key(0), (1, 128))
    cursors = jax.jit(jax.vmap(jax.vmap(lambda key: tasks.begin(task, key))))(keys)
    _, stream = draw(task, 4096, cursors)
    labelled = np.asarray(stream.labels[0]) >= 0
    for truncation, batch in [(1, 1), (2, 4), (16, 32), (128, 8), (256, 128)]:
        shape = Shape(task, truncation, batch, False)
        assert 1 <= shape.slots <= shape.segments * batch
        assert shape.segments == -(-truncation // 100)
        assert shape.steps % truncation == 0
        counts = labelled[:, :batch].reshape(-1, truncation * batch).sum(1)
        assert np.mean(counts > shape.slots) < 0.02
