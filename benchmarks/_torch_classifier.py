"""The paper's classifiers and regime as idiomatic PyTorch: modules, loops, torch.optim.Adam."""

import torch
from torch import nn


class TorchChain(nn.Module):
    """One-hot symbols into a chain of pools, read at every step; gradients through pool 1 only."""

    def __init__(self, symbols: int, classes: int, D: int, k: int, V: int, M: int, b: float):
        super().__init__()
        self.rates = [b**-n for n in range(1, k + 1)]
        self.write = nn.Linear(symbols, D, bias=False)
        self.input_view = nn.Linear(symbols, V)
        self.viewports = nn.ModuleList(nn.Linear(D, V) for _ in range(k))
        self.summariser = nn.Linear((k + 1) * V, M)
        self.logits = nn.Linear(M, classes)

    def initial_state(self, batch: int) -> list[torch.Tensor]:
        return [torch.zeros(batch, self.write.out_features) for _ in self.rates]

    def forward(self, xs: torch.Tensor, pools: list[torch.Tensor]):
        """(logits (time, batch, classes), pools after the last step)."""
        outputs = []
        for x in xs:
            below, seen = self.write(x), []
            for n, rate in enumerate(self.rates):
                fed = below if n == 0 else rate * below
                pool = fed + (1 - rate) * pools[n]
                below = pool if n == 0 else pool.detach()
                seen.append(below)
            pools = seen
            views = [self.input_view(x)]
            views += [view(pool) for view, pool in zip(self.viewports, pools, strict=True)]
            summary = torch.relu(self.summariser(torch.relu(torch.cat(views, dim=-1))))
            outputs.append(self.logits(summary))
        return torch.stack(outputs), [pool.detach() for pool in pools]


class TorchLSTM(nn.Module):
    """One-hot symbols into PyTorch's own LSTM, a hidden layer, logits."""

    def __init__(self, symbols: int, classes: int, D: int, M: int):
        super().__init__()
        self.lstm = nn.LSTM(symbols, D)
        self.head = nn.Sequential(nn.Linear(D, M), nn.ReLU(), nn.Linear(M, classes))

    def initial_state(self, batch: int) -> tuple[torch.Tensor, torch.Tensor]:
        zeros = torch.zeros(1, batch, self.lstm.hidden_size)
        return zeros, zeros

    def forward(self, xs: torch.Tensor, state):
        """(logits (time, batch, classes), state after the last step)."""
        ys, (hidden, cell) = self.lstm(xs, state)
        return self.head(ys), (hidden.detach(), cell.detach())


class TorchLearner:
    """Truncated back-propagation over given chunks, one update a chunk, round and round."""

    def __init__(
        self, network: TorchChain | TorchLSTM, symbols: int, chunks: list[tuple[torch.Tensor, ...]]
    ):
        self.network = network
        self.symbols = symbols
        self.chunks = chunks
        self.state = network.initial_state(chunks[0][0].shape[1])
        self.optimiser = torch.optim.Adam(network.parameters(), lr=5e-4, eps=1e-6)

    def update(self, number: int) -> None:
        symbols, labels = self.chunks[number % len(self.chunks)]
        xs = nn.functional.one_hot(symbols, self.symbols).float()
        logits, self.state = self.network(xs, self.state)
        labelled = labels >= 0
        loss = logits.sum() * 0.0
        if labelled.any():
            loss = nn.functional.cross_entropy(logits[labelled], labels[labelled])
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
