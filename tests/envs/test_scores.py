"""Perfect players earn the maximum, which is what the paper's tasks allow."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from longpass.envs import (
    CuedCatch,
    CuedCatchParams,
    HashedSpeckle,
    SequenceRecall,
    SequenceRecallHidden,
    SequenceRecallParams,
    TMaze,
    TMazeHidden,
    TMazeParams,
    play_episode,
)


def earned(env, params, hidden):
    """(return, steps) of the perfect player, who must be at the end exactly when it comes."""
    actions = env.perfect_actions(params, hidden)
    episode = play_episode(env, params, hidden, actions)
    np.testing.assert_array_equal(np.flatnonzero(episode.over), [len(actions)])
    return episode.rewards.sum(dtype=np.float64), len(actions)


def maze_hidden(goal):
    return TMazeHidden(jnp.int8(goal), HashedSpeckle(jnp.arange(2, dtype=jnp.uint32)))


@pytest.mark.parametrize("seed", range(3))
def test_cued_catch_pays_sixty(seed):
    env, params = CuedCatch(), CuedCatchParams()
    hidden = env.draw(jax.random.key(seed), params)
    assert earned(env, params, hidden) == (60.0, 739)
    assert env.max_score(params) == 60.0


@pytest.mark.parametrize(("trials", "free", "best"), [(5, 2, 3), (3, 9, 0), (1, 0, 1)])
def test_cued_catch_with_other_settings(trials, free, best):
    env = CuedCatch()
    params = CuedCatchParams(2, 1, num_trials=trials, reward_free_trials=free)
    score, _ = earned(env, params, env.draw(jax.random.key(0), params))
    assert score == env.max_score(params) == best


@pytest.mark.parametrize(("goal", "best", "steps"), [(0, 0.613, 389), (1, 0.611, 391)])
def test_t_maze_of_the_paper(goal, best, steps):
    env, params, hidden = TMaze(), TMazeParams(), maze_hidden(goal)
    score, taken = earned(env, params, hidden)
    assert score == pytest.approx(best, abs=1e-5)
    assert env.max_score(params, hidden) == pytest.approx(best, abs=1e-12)
    assert env.max_score(params) == pytest.approx(0.612, abs=1e-12)
    assert taken == steps


@pytest.mark.parametrize("level", range(6))
@pytest.mark.parametrize("limbo", [0, 3, 7])
def test_t_maze_of_every_level(level, limbo):
    env = TMaze()
    for goal, delay, timeout in itertools.product((0, 1), (0, 4, 9), (-1, 30, 1)):
        params = TMazeParams(level, False, timeout, delay, limbo)
        score, _ = earned(env, params, maze_hidden(goal))
        assert score == pytest.approx(env.max_score(params, maze_hidden(goal)), abs=1e-5)


def test_sequence_recall_over_all_sequences():
    env, params = SequenceRecall(), SequenceRecallParams()
    scores, lengths = [], []
    for sequence in itertools.product(range(1, 5), repeat=4):
        hidden = SequenceRecallHidden(jnp.array(sequence, jnp.int8))
        score, steps = earned(env, params, hidden)
        assert score == pytest.approx(env.max_score(params, hidden), abs=1e-5)
        scores.append(score)
        lengths.append(steps)
    assert np.mean(scores) == pytest.approx(env.max_score(params), abs=1e-5)
    assert env.max_score(params) == pytest.approx(2.1105, abs=5e-5)
    assert (min(lengths), max(lengths)) == (373, 385)
    assert min(scores) == pytest.approx(2.085, abs=1e-5)
    assert max(scores) == pytest.approx(2.145, abs=1e-5)


@pytest.mark.parametrize("timeout", [-1, 0, 1, 9, 14, 17, 18, 19, 20, 21, 22, 30, 40])
def test_sequence_recall_against_the_clock(timeout):
    """With little time, a wrong light nearby may be better than the right one far away."""
    env = SequenceRecall()
    params = SequenceRecallParams(3, 0, 0, 0, timeout_frames=timeout)
    total = []
    for sequence in itertools.product(range(1, 5), repeat=3):
        hidden = SequenceRecallHidden(jnp.array(sequence, jnp.int8))
        total.append(env.max_score(params, hidden))
        if timeout:
            assert earned(env, params, hidden)[0] == pytest.approx(total[-1], abs=1e-5)
    assert np.mean(total) == pytest.approx(env.max_score(params), abs=1e-9)


def test_long_sequences_have_a_mean_too():
    env = SequenceRecall()
    one = env.max_score(SequenceRecallParams(1, timeout_frames=-1))
    assert one == pytest.approx(1 - 0.005 * (92 + 3))
    assert np.isfinite(env.max_score(SequenceRecallParams(12, timeout_frames=-1)))
