"""A plain PyTorch actor-critic in CleanRL's manner: one file, a loop over steps, nn.LSTM.

The layers are those of our agent with an LSTM. Acting steps a Gymnasium vector environment; the
rollout is then unrolled through the LSTM, stretch by stretch between episodes' starts, and learned
from with V-trace, which on one's own fresh rollout is the n-step return.
"""

import time
from typing import Any

import numpy as np
import torch
from torch import nn


class TorchAgent(nn.Module):
    """Convolution, embedding, LSTM, heads."""

    def __init__(self, board: tuple[int, ...], actions: int):
        super().__init__()
        rows, columns, planes = board
        self.convolution = nn.Conv2d(planes, 16, 3, stride=2, padding=1)
        self.embedding = nn.Linear(16 * -(-rows // 2) * -(-columns // 2), 128)
        self.memory = nn.LSTM(128, 128)
        self.policy = nn.Linear(128, actions)
        self.value = nn.Linear(128, 1)

    def embed(self, frames: torch.Tensor) -> torch.Tensor:
        seen = torch.relu(self.convolution(frames.permute(0, 3, 1, 2).float()))
        return torch.relu(self.embedding(seen.flatten(1)))

    def forward(self, frames: torch.Tensor, starts: torch.Tensor, state: Any) -> Any:
        """(Logits, values, state) of frames (time, envs, ...), the state cleared at starts."""
        length, copies = starts.shape
        xs = self.embed(frames.flatten(0, 1)).view(length, copies, -1)
        keep = 1.0 - starts.float()
        ys = []
        for x, k in zip(xs, keep, strict=True):
            state = tuple(k[None, :, None] * part for part in state)
            y, state = self.memory(x[None], state)
            ys.append(y)
        out = torch.cat(ys)
        return self.policy(out), self.value(out)[..., 0], state


def steps_per_second(envs: Any, rollout: int, updates: int) -> tuple[float, float]:
    """Environment steps (a second, a CPU-second) of acting and learning, warmed up."""
    agent = TorchAgent(envs.single_observation_space.shape, int(envs.single_action_space.n))
    optimiser = torch.optim.Adam(agent.parameters(), lr=1e-3)
    copies = envs.num_envs
    frames, _ = envs.reset(seed=0)
    starts = np.ones(copies, bool)
    state = tuple(torch.zeros(1, copies, 128) for _ in range(2))
    began = cpu_began = 0.0
    for update in range(updates + 1):
        if update == 1:
            began, cpu_began = time.perf_counter(), time.process_time()
        first, seen, begun, taken, paid, ended = state, [], [], [], [], []
        for _ in range(rollout):
            with torch.no_grad():
                here = torch.tensor(frames)[None], torch.tensor(starts)[None]
                logits, _, state = agent(*here, state)
                actions = torch.distributions.Categorical(logits=logits[0]).sample()
            seen.append(here[0])
            begun.append(here[1])
            taken.append(actions)
            frames, rewards, terminated, truncated, _ = envs.step(actions.numpy())
            starts = terminated | truncated
            paid.append(torch.as_tensor(rewards, dtype=torch.float32))
            ended.append(torch.as_tensor(starts))
        logits, values, _ = agent(torch.cat(seen), torch.cat(begun), first)
        with torch.no_grad():
            here = torch.tensor(frames)[None], torch.tensor(starts)[None]
            later = agent(*here, state)[1][0]
        policy = torch.distributions.Categorical(logits=logits)
        targets = []
        for reward, end in zip(reversed(paid), reversed(ended), strict=True):
            later = reward + 0.99 * torch.where(end, 0.0, later)
            targets.append(later)
        returns = torch.stack(targets[::-1])
        advantages = returns - values
        loss = -(policy.log_prob(torch.stack(taken)) * advantages.detach()).mean()
        loss = loss + 0.25 * advantages.square().mean() - 0.002 * policy.entropy().mean()
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(agent.parameters(), 1.0)
        optimiser.step()
    steps = updates * rollout * copies
    return steps / (time.perf_counter() - began), steps / (time.process_time() - cpu_began)
