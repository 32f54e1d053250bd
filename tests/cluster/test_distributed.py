"""IMPALA over Ray: a player on a real cluster, the learner here, the lag between them measured.

One player, because each compiles for seconds; benchmarks/ray.py has several.
"""

import os
import signal
import time
from pathlib import Path

import jax
import numpy as np
import pytest

from longpass.agents import AgentSettings, Hyper, RayImpala
from tests.cluster.probe import ProbeConfig

pytestmark = pytest.mark.xdist_group("ray")
HYPER = {"entropy_cost": 5e-3, "discount": 0.9, "epsilon": 1e-5}
STILL, LEARNING = Hyper(learning_rate=0.0, **HYPER), Hyper(learning_rate=5e-3, **HYPER)


def players():
    """Processes of players of the tests' cluster."""
    ours, found = f"RAY_TMPDIR={os.environ['RAY_TMPDIR']}".encode(), set()
    for path in Path("/proc").glob("[0-9]*"):
        try:
            named = (path / "cmdline").read_bytes().startswith(b"ray::Player")
            if named and ours in (path / "environ").read_bytes():
                found.add(int(path.name))
        except OSError:
            continue
    return found


def test_a_player_acts_the_learner_learns_and_a_lost_player_is_replaced(address):
    config = ProbeConfig()
    with RayImpala(config, 1) as trainer:
        state = trainer.init(jax.random.key(0))
        # Weights that stay what they were: all that is sent must say so, however late it comes.
        state, told = trainer.run(state, STILL, 6)
        np.testing.assert_allclose(told.metrics.ratio, 1.0, atol=1e-5)
        # It plays on while the first rollout is learned from: from then on it is an update late.
        assert told.metrics.lag.tolist() == [0, 1, 1, 1, 1, 1]
        assert set(told.metrics.lag_most) == {1}
        assert told.scores.shape == (6, config.settings.rollout, config.settings.envs)

        state, told = trainer.run(state, LEARNING, 100)
        assert int(state.updates) == 106
        returns = np.nanmean(told.scores, axis=(1, 2))
        assert returns[:5].mean() < 0.6
        assert returns[-20:].mean() > 0.95
        assert set(told.metrics.lag) == {1}
        assert np.abs(told.metrics.ratio - 1.0).max() > 1e-3

        (lost,) = players()
        os.kill(lost, signal.SIGKILL)
        while told.metrics.lost[0] == 0:
            state, told = trainer.run(state, LEARNING, 1)
        assert told.metrics.lost[0] == 1
        assert lost not in players()
        assert len(players()) == 1
        state, told = trainer.run(state, LEARNING, 4)
        assert told.metrics.lost[0] == 1
        assert np.nanmean(told.scores) > 0.9
    until = time.monotonic() + 30
    while players():
        assert time.monotonic() < until, "players live on"
        time.sleep(0.05)


def test_a_made_up_lag_is_refused():
    config = ProbeConfig(settings=AgentSettings(lag=2))
    with pytest.raises(ValueError, match="lag is 2: it must be 0 for the engine 'ray'"):
        RayImpala(config)
    with pytest.raises(ValueError, match="actors is 0"):
        RayImpala(ProbeConfig(), 0)
