"""`ConcretePolicy` keeps what RecurrentPPO expects, and handles starts as its LSTM's loop does."""

from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces

pytest.importorskip("sb3_contrib")
from sb3_contrib import RecurrentPPO
from sb3_contrib.common.recurrent.policies import RecurrentActorCriticPolicy

from longpass.torch.sb3 import ConcretePolicy


class Endless(gymnasium.Env):
    """Random numbers; episodes of seven steps."""

    observation_space = spaces.Box(-1.0, 1.0, (4,), np.float32)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time = 0
        return self.observation_space.sample(), {}

    def step(self, action):
        self.time += 1
        return self.observation_space.sample(), float(action), self.time == 7, False, {}


def make(**policy):
    return RecurrentPPO(
        ConcretePolicy,
        Endless(),
        n_steps=16,
        batch_size=8,
        n_epochs=1,
        policy_kwargs={"lstm_hidden_size": 8, "n_lstm_layers": 4, **policy},
        device="cpu",
        seed=0,
    )


def test_starts_in_one_call_are_the_loop_over_time():
    core: Any = make().policy.lstm_actor
    features = torch.randn(3 * 20, 4)
    states = (torch.randn(2, 3, 8), torch.randn(2, 3, 8))
    starts = (torch.rand(60) < 0.2).float()
    args = (features, states, starts, core)
    ours, last = ConcretePolicy._process_sequence(*args)
    theirs, last_theirs = RecurrentActorCriticPolicy._process_sequence(*args)
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(last, last_theirs)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"enable_critic_lstm": False, "shared_lstm": True},
        {"enable_critic_lstm": False},
        {"lstm_kwargs": {"normalise": "layer", "gradient_pools": 2}},
    ],
)
def test_learning_changes_every_weight(options, tmp_path):
    model = make(**options)
    before = {name: weight.clone() for name, weight in model.policy.named_parameters()}
    model.learn(32)
    still = [name for name, w in model.policy.named_parameters() if torch.equal(w, before[name])]
    assert not still
    model.save(tmp_path / "model")
    again = RecurrentPPO.load(tmp_path / "model")
    action, state = again.predict(np.zeros(4, np.float32), deterministic=True)
    assert state is not None
    assert state[0].shape == state[1].shape == (2, 1, 8)
    assert action == model.predict(np.zeros(4, np.float32), deterministic=True)[0]
