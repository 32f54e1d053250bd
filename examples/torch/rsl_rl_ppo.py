"""A memory of longpass inside rsl_rl, the library behind Isaac Lab: its model's RNN is replaced.

python examples/torch/rsl_rl_ppo.py
"""

import argparse

import torch
from rsl_rl.env import VecEnv
from rsl_rl.models import RNNModel
from rsl_rl.runners import OnPolicyRunner
from tensordict import TensorDict
from torch import Tensor

from longpass.torch import Concrete


class ConcreteModel(RNNModel):
    """A model of rsl_rl; options of its RNN are read as those of `Concrete`."""

    def __init__(self, *args, rnn_hidden_dim: int = 64, rnn_num_layers: int = 8, **options):
        super().__init__(*args, rnn_type="gru", rnn_hidden_dim=rnn_hidden_dim, **options)
        core = Concrete(self.obs_dim, rnn_hidden_dim, rnn_num_layers, normalise="layer")
        self.rnn.rnn = core  # pyright: ignore[reportAttributeAccessIssue]


class Recall(VecEnv):
    """A number, 1 or -1, is shown first; `delay` steps later the action must be that number."""

    def __init__(self, delay: int, num_envs: int = 64):
        self.num_envs, self.num_actions, self.max_episode_length = num_envs, 1, delay + 1
        self.device, self.cfg, self.error = "cpu", {}, 1.0
        self.cues = torch.randint(2, (num_envs,)) * 2.0 - 1.0
        self.episode_length_buf = torch.randint(delay + 1, (num_envs,))

    def get_observations(self) -> TensorDict:
        time = self.episode_length_buf
        last = time == self.max_episode_length - 1
        seen = torch.stack([self.cues * (time == 0), last.float()], dim=1)
        return TensorDict({"policy": seen}, batch_size=[self.num_envs])

    def step(self, actions: Tensor) -> tuple[TensorDict, Tensor, Tensor, dict]:
        done = self.episode_length_buf == self.max_episode_length - 1
        errors = (actions[:, 0] - self.cues).square()
        if done.any():
            self.error += 0.05 * (float(errors[done].mean()) - self.error)
        self.episode_length_buf = torch.where(done, 0, self.episode_length_buf + 1)
        fresh = torch.randint(2, (self.num_envs,)) * 2.0 - 1.0
        self.cues = torch.where(done, fresh, self.cues)
        return self.get_observations(), -errors.clamp(max=4.0) * done, done, {}


def train(updates: int, delay: int = 60, seed: int = 0) -> float:
    """A running mean of squared errors: 1 without memory, 0 for an agent that remembers."""
    torch.manual_seed(seed)
    model = {"class_name": ConcreteModel, "hidden_dims": [64]}
    gaussian = {"class_name": "GaussianDistribution", "init_std": 0.5}
    config = {
        "num_steps_per_env": 16,
        "save_interval": 10**9,
        "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
        "algorithm": {"class_name": "PPO", "schedule": "fixed", "entropy_coef": 0.0},
        "actor": model | {"distribution_cfg": gaussian},
        "critic": dict(model),
    }
    env = Recall(delay)
    OnPolicyRunner(env, config).learn(updates)
    return env.error


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--updates", type=int, default=300)
    parser.add_argument("--delay", type=int, default=60)
    args = parser.parse_args()
    print(f"{train(args.updates, args.delay):.3f}")
