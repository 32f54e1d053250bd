"""The same network as idiomatic PyTorch: modules, and loops over time and pools."""

import torch
from torch import nn


class TorchConcrete(nn.Module):
    """Input, pools and output of one width; gradients through the first pool only."""

    def __init__(self, size: int, pools: int, viewport: int):
        super().__init__()
        self.rates = [2.0**-n for n in range(1, pools + 1)]
        self.write = nn.Linear(size, size, bias=False)
        self.viewports = nn.ModuleList(nn.Linear(size, viewport) for _ in range(pools + 1))
        self.summariser = nn.Linear((pools + 1) * viewport, size)

    def forward(self, xs: torch.Tensor) -> torch.Tensor:
        """(time, batch, size) to (time, batch, size)."""
        pools = [xs.new_zeros(xs.shape[1:]) for _ in self.rates]
        ys = []
        for x in xs:
            below = self.write(x)
            for n, rate in enumerate(self.rates):
                fed = below if n == 0 else rate * below
                pool = fed + (1 - rate) * pools[n]
                pools[n] = pool if n == 0 else pool.detach()
                below = pools[n]
            views = [view(seen) for view, seen in zip(self.viewports, [x, *pools], strict=True)]
            ys.append(torch.relu(self.summariser(torch.relu(torch.cat(views, dim=-1)))))
        return torch.stack(ys)
