"""RecurrentPPO of sb3-contrib with a memory of longpass: one class is replaced.

A cue must be remembered for 60 steps while gradients reach back 16 (`n_steps`).

    python examples/torch/sb3_ppo.py                # Concrete
    python examples/torch/sb3_ppo.py --core lstm    # as sb3-contrib has it
"""

import argparse
from collections.abc import Callable

import gymnasium
from recall_env import Recall
from sb3_contrib import RecurrentPPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env

from longpass.torch.sb3 import ConcretePolicy


class Curve(BaseCallback):
    """The mean return of the last 100 episodes, after every rollout."""

    def __init__(self, report: Callable[[int, float], None]):
        super().__init__()
        self.report = report

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        episodes = self.model.ep_info_buffer
        if episodes:
            returns = [episode["r"] for episode in episodes]
            self.report(self.num_timesteps, sum(returns) / len(returns))


def train(
    core: str,
    make_env: Callable[[], gymnasium.Env],
    steps: int,
    seed: int = 0,
    report: Callable[[int, float], None] = print,
) -> float:
    """Train one agent.

    **Returns:** the mean return of its last 100 episodes.
    """
    memory = {"normalise": "layer"} if core == "concrete" else {}
    model = RecurrentPPO(
        ConcretePolicy if core == "concrete" else "MlpLstmPolicy",
        make_vec_env(make_env, n_envs=32, seed=seed),
        n_steps=16,
        batch_size=128,
        n_epochs=4,
        learning_rate=1e-3,
        ent_coef=0.01,
        policy_kwargs={"lstm_hidden_size": 64, "lstm_kwargs": memory},
        seed=seed,
        device="cpu",
    )
    curve: list[float] = []
    model.learn(steps, Curve(lambda time, mean: (report(time, mean), curve.append(mean))[0]))
    return curve[-1] if curve else float("nan")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--core", choices=["concrete", "lstm"], default="concrete")
    parser.add_argument("--steps", type=int, default=200_000)
    parser.add_argument("--delay", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    print(f"{train(args.core, lambda: Recall(args.delay), args.steps, args.seed):.3f}")
