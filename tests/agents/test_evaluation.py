"""Evaluation in batches: memory does not grow with the number of episodes."""

import jax
import numpy as np
import pytest

from longpass.agents import (
    GymCopies,
    _evaluation,
    episode_scores,
    make_trainer,
    measure_returns,
    resolve_settings,
)
from tests.helpers import wrong


def test_many_episodes_are_played_in_batches(monkeypatch, unchecked_types):
    keys, played = [], []

    def score(env, params, episodes, greedy, network, key):
        keys.append(tuple(np.asarray(jax.random.key_data(key)).tolist()))
        assert episodes == 256
        return np.arange(episodes, dtype=np.float32)

    monkeypatch.setattr(_evaluation, "_scores", score)
    run, key = resolve_settings("cued-catch"), jax.random.key(3)
    found = episode_scores(run, wrong(None), 600, key, greedy=True, on_progress=played.append)
    assert found.tolist() == [*range(256), *range(256), *range(88)]
    assert played == [256, 512, 600]
    assert len(set(keys)) == 3


def test_too_many_episodes_are_refused(unchecked_types):
    run = resolve_settings("cued-catch")
    with pytest.raises(ValueError, match="episodes is 10000000: it must be 1 to 1000000"):
        episode_scores(run, wrong(None), 10**7, jax.random.key(0), greedy=True)


def test_the_seed_of_an_evaluation_reaches_gymnasium(monkeypatch):
    """Every seed plays episodes of its own, and the same ones again."""
    first = []

    class Watched(GymCopies):
        def reset(self, seed):
            first.append(super().reset(seed))
            return first[-1]

    small = {"memory": "gru", "hidden_size": 4, "envs": 1, "stagger": 1}
    run = resolve_settings("CartPole-v1", overrides=small)
    network = make_trainer(run).start(jax.random.key(0)).weights.network
    monkeypatch.setattr(_evaluation, "GymCopies", Watched)
    one, again, other = (measure_returns(run, network, 2, seed) for seed in (1, 1, 2))
    assert one == again
    assert one != other
    greedy, sampled, greedy_again, _, greedy_other, _ = first
    np.testing.assert_array_equal(greedy, sampled)
    np.testing.assert_array_equal(greedy, greedy_again)
    assert not np.isin(greedy, greedy_other).any()
