"""PPO in one file, in the manner of CleanRL's ppo_atari_lstm.py, with the core replaced.

`nn.LSTM(...)` became `Concrete(..., state="lstm")`, and the loop over time became one call.

    python examples/torch/cleanrl_ppo.py --delay 60
"""

import argparse

import gymnasium as gym
import numpy as np
import torch
from recall_env import Recall
from torch import Tensor, nn
from torch.distributions import Categorical

from longpass.torch import Concrete

ENVS, STEPS, EPOCHS, GAMMA, LAMBDA, CLIP = 32, 16, 4, 0.99, 0.95, 0.2


class Agent(nn.Module):
    def __init__(self, inputs: int, actions: int):
        super().__init__()
        self.lstm = Concrete(inputs, 64, normalise="layer", state="lstm")
        self.actor, self.critic = nn.Linear(64, actions), nn.Linear(64, 1)

    def forward(self, x: Tensor, state, done: Tensor):
        hidden, state = self.lstm(x, state, starts=done.bool())
        return Categorical(logits=self.actor(hidden)), self.critic(hidden).squeeze(-1), state


def train(updates: int, delay: int = 60, seed: int = 0) -> float:
    """The mean reward of the last 100 answers, 1 if the agent always remembers."""
    torch.manual_seed(seed)
    envs = gym.vector.SyncVectorEnv([lambda: Recall(delay)] * ENVS, autoreset_mode="SameStep")
    agent = Agent(3, 2)
    optimizer = torch.optim.Adam(agent.parameters(), lr=1e-3)
    size = (agent.lstm.num_layers, ENVS, agent.lstm.hidden_size)
    state, done = (torch.zeros(size), torch.zeros(size)), torch.ones(ENVS)
    frame = torch.tensor(envs.reset(seed=seed)[0])
    answers: list[float] = []
    for _ in range(updates):
        first = state
        frames = torch.zeros(STEPS, ENVS, 3)
        dones, actions, logs, values, rewards = torch.zeros(5, STEPS + 1, ENVS)
        for t in range(STEPS):
            frames[t], dones[t] = frame, done
            with torch.no_grad():
                policy, value, state = agent(frame[None], state, done[None])
                actions[t], values[t] = policy.sample()[0], value[0]
                logs[t] = policy.log_prob(actions[t])[0]
            seen, reward, ended, _, _ = envs.step(actions[t].int().numpy())
            frame, done, rewards[t] = map(torch.tensor, (seen, ended, reward))
            answers += np.asarray(reward)[ended].tolist()
        with torch.no_grad():
            values[STEPS], dones[STEPS] = agent(frame[None], state, done[None])[1][0], done
        advantages = torch.zeros_like(values)
        for t in reversed(range(STEPS)):
            goes_on = 1 - dones[t + 1]
            ahead = values[t + 1] + LAMBDA * advantages[t + 1]
            advantages[t] = rewards[t] + GAMMA * goes_on * ahead - values[t]
        gain = (advantages[:-1] - advantages[:-1].mean()) / (advantages[:-1].std() + 1e-8)
        for _ in range(EPOCHS):
            policy, value, _ = agent(frames, first, dones[:-1])
            ratio = (policy.log_prob(actions[:-1]) - logs[:-1]).exp()
            surrogate = torch.min(gain * ratio, gain * ratio.clamp(1 - CLIP, 1 + CLIP)).mean()
            error = (value - (advantages + values)[:-1]).square().mean()
            optimizer.zero_grad()
            (0.5 * error - surrogate - 0.01 * policy.entropy().mean()).backward()
            optimizer.step()
    return float(np.mean(answers[-100:])) if answers else 0.0


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--updates", type=int, default=300)
    parser.add_argument("--delay", type=int, default=60)
    print(f"{train(**vars(parser.parse_args())):.3f}")
