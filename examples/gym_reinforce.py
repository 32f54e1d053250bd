"""A learner that knows only the name of an environment of longpass.

One file in the manner of CleanRL, with NumPy alone: REINFORCE with a baseline and a linear policy
over the pixels, on Cued Catch with the ball symbol left in view (so that nothing need be
remembered, and a linear policy can do it).

    python examples/gym_reinforce.py --updates 20
"""

import argparse

import gymnasium
import numpy as np


def softmax(x: np.ndarray) -> np.ndarray:
    weights = np.exp(x - x.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def train(updates: int, num_envs: int = 64, rate: float = 0.2, seed: int = 0) -> list[float]:
    """The mean return of the copies' episodes, one number per update (one episode each)."""
    envs = gymnasium.make_vec(
        "longpass.envs.gym:longpass/CuedCatch-v0",
        num_envs=num_envs,
        initial_cue_duration=1,
        num_trials=8,
        reward_free_trials=0,
        always_show_ball_symbol=True,
    )
    rng = np.random.default_rng(seed)
    actions_space = envs.single_action_space
    assert isinstance(actions_space, gymnasium.spaces.Discrete)
    actions_count = int(actions_space.n)
    observations, _ = envs.reset(seed=seed)
    weights = np.zeros((observations[0].size, actions_count))
    returns = []
    for _ in range(updates):
        seen, taken, rewards, done = [], [], [], np.zeros(num_envs, bool)
        while not done.all():  # episodes have one length, so all copies end together
            x = observations.reshape(num_envs, -1).astype(float)
            probabilities = softmax(x @ weights)
            draws = rng.random((num_envs, 1))
            actions = (probabilities.cumsum(axis=1) < draws).sum(axis=1).clip(0, actions_count - 1)
            observations, reward, terminated, truncated, _ = envs.step(actions)
            seen.append(x)
            taken.append(actions)
            rewards.append(reward)
            done = terminated | truncated
        # The move that catches a ball is paid at once: credit an action for three rewards.
        credit = np.zeros((len(rewards), num_envs))
        for t in range(len(rewards)):
            credit[t] = np.sum(rewards[t : t + 3], axis=0)
        credit -= credit.mean(axis=1, keepdims=True)
        for x, actions, advantage in zip(seen, taken, credit, strict=True):
            gradient = np.eye(actions_count)[actions] - softmax(x @ weights)
            weights += rate / num_envs * x.T @ (gradient * advantage[:, None])
        returns.append(float(np.sum(rewards, axis=0).mean()))
    envs.close()
    return returns


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--updates", type=int, default=20)
    parser.add_argument("--num-envs", type=int, default=64)
    arguments = parser.parse_args()
    returns = train(arguments.updates, arguments.num_envs)
    for update in range(0, len(returns), max(1, len(returns) // 10)):
        print(f"update {update:4d}   mean return {returns[update]:.2f} of 8")
    print(f"last          mean return {returns[-1]:.2f} of 8")


if __name__ == "__main__":
    main()
