"""The native learner against the one that JAX compiles, and its streams against `read_stream`.

That it is equal to the reference on every task is tested in test_training.py.
"""

import dataclasses
from typing import get_args

import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("numba")

from longpass.streams import (
    LearnerName,
    PaperTask,
    StreamSettings,
    StreamTraining,
    choose_learner,
    make_network,
    make_task,
)
from longpass.streams import _group as group
from longpass.streams import _native_results as native_results
from longpass.streams import _native_streams as native_streams
from longpass.streams import _update as update
from longpass.streams._flat_weights import flatten_weights
from longpass.streams._native_weights import draw_native_weights
from longpass.streams._tally import CRITERION_LENGTH

# Compiling native code takes long: one process does it, and keeps it for others.
pytestmark = pytest.mark.xdist_group("native")

SMALL = {
    "chain": {"pool_size": 11, "num_pools": 5, "viewport_size": 4, "base": 2.0},
    "parallel": {"pool_size": 5, "num_pools": 3, "viewport_size": 4, "base": 1.5},
    "lstm": {"state_size": 9},
}


def small(memory: str, **changes) -> StreamSettings:
    settings: dict = {"memory": memory, "hidden_size": 12, "symbols": 100_000, "seed": 5}
    return StreamSettings(**settings | SMALL[memory] | changes).resolved()


def assert_close(settings: StreamSettings, blocks: int, dtype, tolerance: float) -> None:
    """Both learners, from the same beginning over the same symbols, end in the same state."""
    compiled, native = (
        StreamTraining([settings], learner=learner, dtype=dtype)
        for learner in get_args(LearnerName)
    )
    for _ in range(blocks):
        compiled.learn_block()
        native.learn_block()
    assert native.updates == compiled.updates > 0
    leaves = zip(
        jax.tree_util.tree_leaves_with_path(compiled.learner),
        jax.tree.leaves(native.learner),
        strict=True,
    )
    for (path, ours), theirs in leaves:
        name = jax.tree_util.keystr(path)
        assert theirs.dtype == ours.dtype, name
        scale = max(1e-3, float(np.nanmax(np.abs(ours))))
        np.testing.assert_allclose(theirs, ours, rtol=0, atol=tolerance * scale, err_msg=name)
    ours, theirs = compiled.checkpoint[0][1], native.checkpoint[0][1]
    np.testing.assert_array_equal(jax.random.key_data(theirs.key), jax.random.key_data(ours.key))
    np.testing.assert_array_equal(theirs.number, ours.number)
    np.testing.assert_array_equal(theirs.place, ours.place)


@pytest.mark.slow
def test_equal_to_the_compiled_learner_where_most_minibatches_have_no_label():
    """Then weights that nothing reads are caught up later (`_catch_up`)."""
    settings = small("chain", truncation=2, batch_size=1, symbols=3 * 1024)
    assert_close(settings, 3, jnp.float64, 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("memory", SMALL)
def test_close_in_single_precision(memory):
    settings = small(memory, truncation=8, batch_size=40, learning_rate=1e-4)
    assert_close(settings, 3, jnp.float32, 2e-4)


@pytest.mark.slow
def test_a_training_ends_at_its_number_of_updates():
    settings = small("chain", truncation=7, symbols=3 * 32 * 7 + 5)
    training = StreamTraining([settings], learner="native")
    while not training.done:
        training.advance()
    (score,) = training.scores()
    assert (score.updates, score.symbols) == (3, 3 * 32 * 7)
    assert sum(point is not None for point in score.curve) == 3


@pytest.mark.slow
def test_a_run_may_change_its_learner():
    settings = small("chain", truncation=4, symbols=30_000)
    compiled = StreamTraining([settings], learner="jax", dtype=jnp.float64)
    first = StreamTraining([settings], learner="native", dtype=jnp.float64)
    first.learn_block()
    second = StreamTraining([settings], first.checkpoint, learner="jax", dtype=jnp.float64)
    second.learn_block()
    third = StreamTraining([settings], second.checkpoint, learner="native", dtype=jnp.float64)
    third.learn_block()
    for _ in range(3):
        compiled.learn_block()
    np.testing.assert_allclose(third.learner.weights, compiled.learner.weights, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("memory", SMALL)
def test_resumed_is_uninterrupted_to_the_bit(memory):
    settings = small(memory, truncation=4)
    whole = StreamTraining([settings], learner="native")
    stopped = StreamTraining([settings], learner="native")
    for training in (whole, stopped):
        training.learn_block()
    checkpoint = stopped.checkpoint
    stopped.learn_block()  # the checkpoint does not change with what goes on
    resumed = StreamTraining([settings], checkpoint, learner="native")
    for training in (whole, resumed):
        training.learn_block()
    for ours, theirs in zip(
        jax.tree.leaves(whole.learner), jax.tree.leaves(resumed.learner), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.slow
def test_a_group_is_its_runs_to_the_bit():
    runs = [small("chain", seed=seed, base=1.5 + seed, learning_rate=1e-3) for seed in range(2)]
    together = StreamTraining(runs, learner="native")
    together.learn_block()
    for n, run in enumerate(runs):
        alone = StreamTraining([run], learner="native")
        alone.learn_block()
        np.testing.assert_array_equal(alone.learner.weights[0], together.learner.weights[n])
        np.testing.assert_array_equal(alone.learner.memory[0], together.learner.memory[n])


@pytest.mark.slow
@pytest.mark.parametrize("memory", SMALL)
def test_divergence_is_seen(memory):
    settings = small(memory, truncation=4, learning_rate=1e30)
    training = StreamTraining([settings], learner="native")
    with np.errstate(all="ignore"):
        while not training.done:
            training.learn_block()
    (score,) = training.scores()
    assert score.diverged is not None
    assert score.accuracy is None


def test_the_criterion_counts_sequences_in_a_row():
    """A network that is certain of class 0 is right as long as labels are 0."""

    def scalar(value):
        return np.array([value])

    counts = native_results.Counts(
        *(scalar(0), scalar(0), scalar(0), scalar(0.25), scalar(0), scalar(-1), scalar(-1)),
        curve=np.zeros(4),
        limit=1,
        counted=5,
    )
    for n in range(CRITERION_LENGTH + 3):
        sure = n != 1
        native_results.count_result(counts, sure, sure)
    assert counts.criterion[0] == CRITERION_LENGTH + 2
    assert counts.right[0] == 4  # of the first five, one was wrong
    assert counts.streak[0] == CRITERION_LENGTH + 1


@pytest.mark.parametrize(("dtype", "tolerance"), [(jnp.float32, 1e-6), (jnp.float64, 1e-13)])
@pytest.mark.parametrize("memory", SMALL)
def test_initial_weights_are_those_of_the_network(memory, dtype, tolerance):
    settings = small(memory, task="three-markers", seed=2**32 - 1)
    drawn = draw_native_weights(settings, dtype)
    network = flatten_weights(make_network(settings, dtype))
    assert drawn.dtype == network.dtype
    np.testing.assert_allclose(drawn, network, rtol=0, atol=tolerance)


@pytest.mark.parametrize(
    ("task", "words_seed"), [*((task, None) for task in get_args(PaperTask)), ("subsequences", 3)]
)
def test_streams_are_those_of_jax(task, words_seed):
    settings = [
        StreamSettings(task=task, words_seed=words_seed, batch_size=7, seed=seed).resolved()
        for seed in (0, 2**32 - 1)
    ]
    shape = group.make_shape(settings)
    ours = group.start_streams(settings, shape, group.StreamPurpose.HELD_OUT)
    native = native_streams.make_native_task(task, words_seed)
    source = native_streams.NativeSource(
        native, 301, native_streams.start_native_streams(native, 7, [0, 2**32 - 1], 2)
    )
    for _ in range(3):
        ours, drawn = update.draw_symbols(make_task(task, words_seed), 301, ours)
        for name, theirs in source.take()._asdict().items():
            np.testing.assert_array_equal(theirs, getattr(drawn, name), err_msg=name)
        np.testing.assert_array_equal(source.cursors.number, ours.number)
        np.testing.assert_array_equal(source.cursors.place, ours.place)


def test_the_learner_is_chosen_by_what_it_can_do(monkeypatch):
    chain = StreamSettings()
    assert choose_learner(chain) == "native"
    assert choose_learner(chain, "jax") == "jax"
    for other in (StreamSettings(memory="gru"), dataclasses.replace(chain, normalise="layer")):
        assert choose_learner(other) == "jax"
        with pytest.raises(ValueError, match="learner is 'native': it must be 'jax'"):
            choose_learner(other, "native")
    monkeypatch.setattr("longpass.streams._settings._numba_is_installed", lambda: False)
    assert choose_learner(chain) == "jax"
    with pytest.raises(ValueError, match="needs Numba"):
        choose_learner(chain, "native")
