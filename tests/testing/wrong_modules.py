"""Modules that break the contract on purpose, each in one way, and the law that names it."""

import torch
from torch import nn


class Right(nn.Module):
    """A small nonlinear memory that keeps every law; the others differ from it in one way."""

    def __init__(self):
        super().__init__()
        self.input_size = 3
        draw = torch.Generator().manual_seed(0)
        self.write = nn.Parameter(torch.randn(4, 3, generator=draw))
        self.keep = nn.Parameter(torch.tensor([0.5, 0.9, 0.7, 0.8]))

    def advance(self, x, state, start):
        state = torch.where(start[:, None], torch.zeros_like(state), state)
        return torch.tanh(self.keep * state + x @ self.write.T)

    def forward(self, x, state=None, starts=None, block_every=None):
        state = torch.zeros(1, x.shape[1], 4) if state is None else state
        starts = torch.zeros(x.shape[:2], dtype=torch.bool) if starts is None else starts
        ys, h = [], state[0]
        for t, one in enumerate(x):
            if block_every is not None and t and t % block_every == 0:
                h = h.detach()
            h = self.advance(one, h, starts[t])
            ys.append(h)
        return torch.stack(ys), h[None]


class LongState(Right):
    def forward(self, x, state=None, starts=None, block_every=None):
        y, h = super().forward(x, None if state is None else state[:1], starts, block_every)
        return y, h.expand(len(x) + 1, -1, -1)


class RandomStart(Right):
    def forward(self, x, state=None, starts=None, block_every=None):
        if state is None:
            state = torch.linspace(0, 1, x.shape[1])[None, :, None].expand(1, -1, 4)
        return super().forward(x, state, starts, block_every)


class Dropout(Right):
    def forward(self, x, state=None, starts=None, block_every=None):
        y, h = super().forward(x, state, starts, block_every)
        return y * (1 + 1e-5 * torch.rand(())), h


class NotFinite(Right):
    def advance(self, x, state, start):
        return super().advance(x, state, start) + torch.sqrt(0 * state)


class OldState(Right):
    def forward(self, x, state=None, starts=None, block_every=None):
        y, _ = super().forward(x, state, starts, block_every)
        before = torch.zeros(1, x.shape[1], 4) if state is None else state
        return y, y[-2][None] if len(y) > 1 else before


class OtherOneStep(Right):
    """A shortcut for one step that is another function; whole chunks are right."""

    def forward(self, x, state=None, starts=None, block_every=None):
        y, h = super().forward(x, state, starts, block_every)
        return (0.9 * y, 0.9 * h) if len(x) == 1 else (y, h)


class LateStart(Right):
    def forward(self, x, state=None, starts=None, block_every=None):
        if starts is not None:
            starts = torch.cat([torch.zeros_like(starts[:1]), starts[:-1]])
        return super().forward(x, state, starts, block_every)


class NoStartAtFirst(Right):
    def forward(self, x, state=None, starts=None, block_every=None):
        if starts is not None:
            starts = torch.cat([torch.zeros_like(starts[:1]), starts[1:]])
        return super().forward(x, state, starts, block_every)


class LeakAcrossStart(Right):
    def advance(self, x, state, start):
        state = state - torch.where(start[:, None], state.detach(), 0.0)
        return torch.tanh(self.keep * state + x @ self.write.T)


class BlockClears(Right):
    def forward(self, x, state=None, starts=None, block_every=None):
        if block_every is not None:
            step = torch.arange(len(x))[:, None]
            border = ((step % block_every == 0) & (step > 0)).expand(x.shape[:2])
            starts = border if starts is None else border | starts
        return super().forward(x, state, starts)


class BlockLeaks(Right):
    def forward(self, x, state=None, starts=None, block_every=None):
        return super().forward(x, state, starts)


class WrongAxis(Right):
    """Turns batch first into time first by a reshape instead of a transpose."""

    batch_first = True

    def forward(self, x, state=None, starts=None, block_every=None):
        batch, time, size = x.shape
        turned = None if starts is None else starts.T
        y, h = super().forward(x.reshape(time, batch, size), state, turned, block_every)
        return y.reshape(batch, time, 4), h


class MixedRows(Right):
    def forward(self, x, state=None, starts=None, block_every=None):
        shared = x - 0.1 * x.mean(dim=1, keepdim=True)
        return super().forward(shared, state, starts, block_every)


WRONG = {
    LongState: "shapes",
    RandomStart: "initial state",
    Dropout: "deterministic",
    NotFinite: "finite",
    OldState: "cut is whole",
    OtherOneStep: "cut is whole",
    LateStart: "start on time",
    NoStartAtFirst: "start of a chunk",
    LeakAcrossStart: "packed is separate",
    BlockClears: "block leaves outputs",
    BlockLeaks: "block cuts gradients",
    MixedRows: "rows are separate",
    WrongAxis: "rows are separate",
}
"""The law that names what is wrong."""
