"""Evaluation in batches: memory does not grow with the number of episodes."""

import jax
import numpy as np
import pytest

from longpass.agents import _evaluation, episode_scores, resolve_settings
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
