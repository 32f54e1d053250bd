"""The reader: one viewport per pool, and a summariser over all viewports.

N_out of section 2 of the paper, in the form of appendix D (schematics).
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from longpass.torch._frozen_pools import normalise_pools

Activation = Callable[[Tensor], Tensor]


class Reader(nn.Module):
    """Feed-forward layers from the contents of pools (and the input) to one output.

    Weights are truncated normal with variance 1 / fan-in, biases 0. Their names are those of
    `longpass.memory`.
    """

    def __init__(
        self,
        num_pools: int,
        pool_size: int,
        input_size: int | None,
        output_size: int,
        viewport_size: int,
        normalise: bool,
        activation: Activation,
        device: torch.device | str | None,
        dtype: torch.dtype | None,
    ):
        """**Arguments:**

        - `num_pools`, `pool_size`: the pools that are read.
        - `input_size`: width of the input. None: the reader does not see the input.
        - `output_size`: units of the summariser.
        - `viewport_size`: units of each viewport.
        - `normalise`: whether pools are normalised before their viewports.
        - `activation`: of viewports and summariser.
        - `device`, `dtype`: of the parameters.
        """
        super().__init__()

        def make(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.empty(shape, device=device, dtype=dtype))

        self.normalise, self.activation = normalise, activation
        views = viewport_size * (num_pools + (input_size is not None))
        self.input_viewport = None if input_size is None else make(viewport_size, input_size)
        self.viewports = make(num_pools, viewport_size, pool_size)
        self.viewport_bias = make(views)
        self.summariser = make(output_size, views)
        self.summary_bias = make(output_size)

    def reset_parameters(self) -> None:
        """Draw new weights."""
        for weight in (self.input_viewport, self.viewports, self.summariser):
            if weight is not None:
                # A normal distribution cut at 2 deviations has 0.8796 of the deviation.
                deviation = 1.0 / math.sqrt(weight.shape[-1]) / 0.87962566103423978
                nn.init.trunc_normal_(weight, 0.0, deviation, -2 * deviation, 2 * deviation)
        nn.init.zeros_(self.viewport_bias)
        nn.init.zeros_(self.summary_bias)

    def view(self, pools: Tensor, viewports: Tensor) -> Tensor:
        """The views of some pools, before bias and activation.

        **Arguments:**

        - `pools`: of shape `(n, steps, size)`.
        - `viewports`: theirs, of shape `(n, viewport, size)`.

        **Returns:**

        Of shape `(steps, n * viewport)`.
        """
        if self.normalise:
            pools = normalise_pools(pools)
        if len(pools) == 1:
            return F.linear(pools[0], viewports[0])
        return torch.bmm(pools, viewports.transpose(1, 2)).transpose(0, 1).flatten(1)

    def summarise(self, x: Tensor, views: list[Tensor]) -> Tensor:
        """The output, from the input (..., input_size) and the views (..., _) of all pools."""
        if self.input_viewport is not None:
            views = [F.linear(x, self.input_viewport), *views]
        # The sum may take the place of what is added: nothing else needs it.
        seen = self.activation(torch.cat(views, dim=-1).add_(self.viewport_bias))
        return self.activation(F.linear(seen, self.summariser, self.summary_bias))
