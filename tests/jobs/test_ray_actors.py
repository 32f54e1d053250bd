"""IMPALA on Ray: an actor on a real cluster, the learner here, the lag between them measured.

One actor, because each compiles for seconds; benchmarks/ray.py has several.
"""

import dataclasses
import os
import signal
import time
from pathlib import Path

import jax
import numpy as np
import pytest

from longpass._fields import replace_settings
from longpass.agents import RayImpala
from tests.agents.zoo import PROBE_RUN, hyper, make_probe_trainer
from tests.helpers import given

pytestmark = pytest.mark.xdist_group("ray")
HYPER = {"entropy_cost": 5e-3, "discount": 0.9, "epsilon": 1e-5}
STILL, LEARNING = hyper(learning_rate=0.0, **HYPER), hyper(learning_rate=5e-3, **HYPER)


def actors():
    """Processes of actors of the tests' cluster."""
    ours, found = f"RAY_TMPDIR={os.environ['RAY_TMPDIR']}".encode(), set()
    for path in Path("/proc").glob("[0-9]*"):
        try:
            named = (path / "cmdline").read_bytes().startswith(b"ray::Actor")
            if named and ours in (path / "environ").read_bytes():
                found.add(int(path.name))
        except OSError:
            continue
    return found


def test_an_actor_acts_the_learner_learns_and_a_lost_actor_is_replaced(address):
    learner = PROBE_RUN.agent.learner
    with RayImpala(PROBE_RUN, 1, make=make_probe_trainer) as trainer:
        state = trainer.start(jax.random.key(0))
        # Weights that stay what they were: all that is sent must say so, however late it comes.
        state, result = trainer.train_steps(state, STILL, 6)
        np.testing.assert_allclose(result.metrics.ratio, 1.0, atol=1e-5)
        # It acts on while the learner learns from the first rollout: then it is one update late.
        assert given(result.actors).lag.tolist() == [0, 1, 1, 1, 1, 1]
        assert set(given(result.actors).lag_most) == {1}
        assert result.scores.shape == (6, learner.rollout, learner.envs)

        state, result = trainer.train_steps(state, LEARNING, 100)
        assert int(state.updates) == 106
        returns = np.nanmean(result.scores, axis=(1, 2))
        assert returns[:5].mean() < 0.6
        assert returns[-20:].mean() > 0.95
        assert set(given(result.actors).lag) == {1}
        assert np.abs(result.metrics.ratio - 1.0).max() > 1e-3

        (lost,) = actors()
        os.kill(lost, signal.SIGKILL)
        while given(result.actors).lost[0] == 0:
            state, result = trainer.train_steps(state, LEARNING, 1)
        assert given(result.actors).lost[0] == 1
        assert lost not in actors()
        assert len(actors()) == 1
        state, result = trainer.train_steps(state, LEARNING, 4)
        assert given(result.actors).lost[0] == 1
        assert np.nanmean(result.scores) > 0.9
    until = time.monotonic() + 30
    while actors():
        assert time.monotonic() < until, "actors still run"
        time.sleep(0.05)


@dataclasses.dataclass(frozen=True)
class DyingTrainer:
    """Makes a trainer in the driver; elsewhere, the process dies."""

    driver: int

    def __call__(self, run):
        if os.getpid() != self.driver:
            os._exit(1)
        return make_probe_trainer(run)


def test_actors_that_die_one_after_the_other_end_the_run(address):
    with RayImpala(PROBE_RUN, 1, make=DyingTrainer(os.getpid())) as trainer:
        state = trainer.start(jax.random.key(0))
        message = "^3 actors died in a row before delivering a rollout, the last one with the error"
        with pytest.raises(ConnectionError, match=message):
            trainer.train_steps(state, STILL, 1)
    assert not actors()


def test_a_simulated_lag_is_refused():
    lagged = dataclasses.replace(PROBE_RUN, agent=replace_settings(PROBE_RUN.agent, {"lag": 2}))
    with pytest.raises(ValueError, match="lag is 2: it must be 0 for the engine 'ray'"):
        RayImpala(lagged)
    with pytest.raises(ValueError, match="actors is 0"):
        RayImpala(PROBE_RUN, 0)
