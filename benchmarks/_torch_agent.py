"""A plain PyTorch actor-critic in CleanRL's manner: one file, a loop over steps, nn.LSTM.

The layers are those of our agent with an LSTM, and so is what is learned: the torso is frozen, so
embeddings are made once, while acting. Acting steps a Gymnasium vector environment. Slices of the
rollout are then unrolled through the LSTM, in stretches between starts of episodes and blocked
gradients, and learned from with V-trace, which on one's own fresh rollout is the n-step return.
"""

from typing import Any

import numpy as np
import torch
from torch import nn

State = tuple[torch.Tensor, torch.Tensor]


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

    def embed(self, frames: np.ndarray) -> torch.Tensor:
        """The memory's input (1, envs, ...) for one frame per copy."""
        boards = torch.tensor(frames).permute(0, 3, 1, 2).float()
        seen = torch.relu(self.convolution(boards))
        return torch.relu(self.embedding(seen.flatten(1)))[None]

    def step(self, xs: torch.Tensor, starts: np.ndarray, state: State) -> Any:
        """(Logits, values, state) of one step (1, envs, ...)."""
        if starts.any():
            state = _clear(state, torch.from_numpy(starts))
        ys, state = self.memory(xs, state)
        return self.policy(ys), self.value(ys)[..., 0], state

    def unroll(self, xs: torch.Tensor, starts: torch.Tensor, state: State, block: int) -> Any:
        """(Logits, values, state) of many steps, with gradients blocked every `block` steps."""
        length = len(xs)
        begins = starts.any(1)
        cuts = [t for t in range(1, length) if begins[t] or t % block == 0]
        ys = []
        for first, last in zip([0, *cuts], [*cuts, length], strict=True):
            if first and first % block == 0:
                state = (state[0].detach(), state[1].detach())
            if begins[first]:
                state = _clear(state, starts[first])
            y, state = self.memory(xs[first:last], state)
            ys.append(y)
        out = torch.cat(ys)
        return self.policy(out), self.value(out)[..., 0], (state[0].detach(), state[1].detach())


def _clear(state: State, starts: torch.Tensor) -> State:
    keep = (~starts).float()[None, :, None]
    return keep * state[0], keep * state[1]


class Player:
    """A vector environment and an agent in it, that act and learn update by update."""

    def __init__(self, envs: Any, rollout: int, slices: int, block: int):
        self.envs, self.rollout, self.slices, self.block = envs, rollout, slices, block
        board = envs.single_observation_space.shape
        self.agent = TorchAgent(board, int(envs.single_action_space.n))
        trained = [*self.agent.memory.parameters(), *self.agent.policy.parameters()]
        self.trained = [*trained, *self.agent.value.parameters()]
        self.optimiser = torch.optim.Adam(self.trained, lr=1e-3)
        self.frames, _ = envs.reset(seed=0)
        self.starts = np.ones(envs.num_envs, bool)
        self.state: State = (
            torch.zeros(1, envs.num_envs, 128),
            torch.zeros(1, envs.num_envs, 128),
        )

    def update(self) -> None:
        """Play a rollout and learn from it, slice after slice."""
        state, (xs, starts, actions, rewards, ended) = self.state, self._play()
        with torch.no_grad():
            xs = torch.cat([xs, self.agent.embed(self.frames)])
            starts = torch.cat([starts, torch.from_numpy(self.starts)[None]])
        length = self.rollout // self.slices
        for first in range(0, self.rollout, length):
            here = slice(first, first + length)
            logits, values, state = self.agent.unroll(xs[here], starts[here], state, self.block)
            with torch.no_grad():
                after = first + length
                later = self.agent.step(xs[after][None], starts[after].numpy(), state)[1][0]
            self._learn(logits, values, later, actions[here], rewards[here], ended[here])

    def _play(self) -> list[torch.Tensor]:
        rows = []
        with torch.inference_mode():
            for _ in range(self.rollout):
                xs, starts = self.agent.embed(self.frames), self.starts
                logits, _, self.state = self.agent.step(xs, starts, self.state)
                actions = torch.multinomial(torch.softmax(logits[0], -1), 1)[:, 0]
                self.frames, rewards, terminated, truncated, _ = self.envs.step(actions.numpy())
                self.starts = terminated | truncated
                rest = (starts, actions, np.float32(rewards), self.starts)
                rows.append((xs[0], *map(torch.as_tensor, rest)))
        with torch.no_grad():
            self.state = (self.state[0].clone(), self.state[1].clone())
            return [torch.stack(column) for column in zip(*rows, strict=True)]

    def _learn(self, logits: Any, values: Any, later: Any, actions: Any, rewards: Any, ended: Any):
        targets = []
        for reward, keep in zip(rewards.flip(0), 0.99 * (~ended).float().flip(0), strict=True):
            later = reward + keep * later
            targets.append(later)
        advantages = torch.stack(targets[::-1]) - values
        log_probs = torch.log_softmax(logits, -1)
        taken = log_probs.gather(-1, actions[..., None])[..., 0]
        entropy = -(log_probs.exp() * log_probs).sum(-1).mean()
        loss = -(taken * advantages.detach()).mean()
        loss = loss + 0.25 * advantages.square().mean() - 0.002 * entropy
        self.optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.trained, 1.0)
        self.optimiser.step()
