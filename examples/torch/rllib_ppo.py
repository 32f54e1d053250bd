"""A memory of longpass as an RLModule of RLlib (new API stack), trained by PPO.

python examples/torch/rllib_ppo.py
"""

import argparse
from typing import Any

import numpy as np
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.core.rl_module.torch import TorchRLModule
from ray.tune.registry import register_env
from recall_env import Recall
from torch import nn

from longpass.torch import Concrete


class ConcreteRLModule(TorchRLModule, ValueFunctionAPI):
    """Policy and value on top of one `Concrete`. `max_seq_len` is the length of gradients."""

    def setup(self) -> None:
        width = self.observation_space.shape[0]
        self.core = Concrete(width, 64, normalise="layer", batch_first=True)
        self.policy = nn.Linear(64, int(self.action_space.n))
        self.value = nn.Linear(64, 1)

    def get_initial_state(self) -> dict[str, np.ndarray]:
        return {"pools": np.zeros((self.core.num_layers, self.core.hidden_size), np.float32)}

    def _read(self, batch: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        state = batch[Columns.STATE_IN]["pools"].transpose(0, 1)
        seen, state = self.core(batch[Columns.OBS], state)
        return seen, {"pools": state.transpose(0, 1)}

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        seen, state = self._read(batch)
        return {
            Columns.ACTION_DIST_INPUTS: self.policy(seen),
            Columns.STATE_OUT: state,
            Columns.EMBEDDINGS: seen,
        }

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> Any:
        seen = self._read(batch)[0] if embeddings is None else embeddings
        return self.value(seen).squeeze(-1)


def train(updates: int, delay: int = 60, batch: int = 4096) -> float:
    """The mean return of the last update's episodes, 1 if the agent always remembers."""
    register_env("recall", lambda _: Recall(delay))
    config = (
        PPOConfig()
        .environment("recall")
        .env_runners(num_env_runners=0, num_envs_per_env_runner=16)
        .training(lr=1e-3, train_batch_size_per_learner=batch, minibatch_size=512, num_epochs=4)
        .rl_module(
            rl_module_spec=RLModuleSpec(
                module_class=ConcreteRLModule, model_config={"max_seq_len": 16}
            )
        )
    )
    algorithm = config.build_algo()
    score = 0.0
    for _ in range(updates):
        score = algorithm.train()["env_runners"].get("episode_return_mean", score)
    algorithm.stop()
    return score


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--updates", type=int, default=30)
    parser.add_argument("--delay", type=int, default=60)
    args = parser.parse_args()
    print(f"{train(args.updates, args.delay):.3f}")
