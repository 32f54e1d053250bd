"""What modules of pools have in common: arguments, parameters, and one step."""

import contextlib
from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from longpass import _checks
from longpass._rates import MOST_POOLS, rates
from longpass.theory import Wiring, pools_for
from longpass.torch._arguments import check_precision, check_unsupported
from longpass.torch._reader import Activation, Reader
from longpass.torch._tables import Pools, make_matrices

State = Literal["gru", "lstm"]
"""How the state looks: one tensor, or a pair (h, c)."""


class Pooled(nn.Module):
    """Pools that a learned matrix writes and a learned reader reads.

    Parameters have the names and the initial distributions of `longpass.memory`.
    """

    _wiring: ClassVar[Wiring]
    # What callers of nn.GRU and nn.LSTM read. Pools have none of these options.
    bias = True
    dropout = 0.0
    bidirectional = False
    proj_size = 0

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 8,
        *,
        output_size: int | None = None,
        base: float = 2.0,
        viewport_size: int = 16,
        gradient_pools: int = 1,
        read_input: bool = True,
        normalise: Literal["layer"] | None = None,
        activation: Activation = F.relu,
        batch_first: bool = False,
        state: State = "gru",
        bias: bool = True,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ):
        """**Arguments:**

        - `input_size`: width of the input; it may be smaller or larger than a pool.
        - `hidden_size`: units of each pool.
        - `num_layers`: number of pools.
        - `output_size`: units of the summariser. None: `hidden_size`.
        - `base`: the rates of the pools are base^-1 .. base^-num_layers.
        - `viewport_size`: units of each viewport.
        - `gradient_pools`: how many of the fastest pools pass gradients, 0 to `num_layers` (1 in
          the paper). The reader of every pool learns in any case.
        - `read_input`: whether the reader sees the input too, through a viewport of its own.
        - `normalise`: None (the paper), or `"layer"`: each pool is scaled to mean 0 and variance 1
          before its viewport.
        - `activation`: of viewports and summariser.
        - `batch_first`: whether inputs and outputs are (batch, time, ...).
        - `state`: `"gru"`: the state is one tensor `(num_layers, batch, hidden_size)`. `"lstm"`: it
          is a pair (h, c), the fast half of the pools in h and the slow half in c; `num_layers`
          must be even, and the *attribute* `num_layers` is the length of each half, from which
          callers of nn.LSTM make their zeros. `num_pools` is the number of pools in both cases.
        - `bias`, `dropout`, `bidirectional`, `proj_size`: taken for the sake of callers that pass
          them; they must have the defaults of nn.GRU.
        - `device`, `dtype`: of the parameters, as for every module of PyTorch.
        """
        super().__init__()
        check_unsupported(
            bias=bias, dropout=dropout, bidirectional=bidirectional, proj_size=proj_size
        )
        self.input_size = _checks.positive_int("input_size", input_size)
        self.hidden_size = _checks.positive_int("hidden_size", hidden_size)
        self.num_pools = _checks.int_within("num_layers", num_layers, 1, MOST_POOLS)
        self.output_size = _checks.positive_int(
            "output_size", hidden_size if output_size is None else output_size
        )
        self.viewport_size = _checks.positive_int("viewport_size", viewport_size)
        self.rates = rates(base, self.num_pools)
        self.base = float(base)
        self.gradient_pools = _checks.int_within(
            "gradient_pools", gradient_pools, 0, self.num_pools
        )
        _checks.one_of("normalise", normalise, (None, "layer"))
        _checks.one_of("state", state, ("gru", "lstm"))
        if state == "lstm" and self.num_pools % 2:
            raise ValueError(
                f"num_layers is {num_layers}: with state='lstm' it must be even, half for h and "
                f"half for c"
            )
        if not callable(activation):
            raise TypeError(f"activation is {activation!r}: it must be a function, such as F.relu")
        self.num_layers = self.num_pools // 2 if state == "lstm" else self.num_pools
        self.read_input, self.normalise, self.activation = bool(read_input), normalise, activation
        self.batch_first, self.state = bool(batch_first), state
        self.write = nn.Parameter(
            torch.empty(self.hidden_size, self.input_size, device=device, dtype=dtype)
        )
        check_precision(self.write.dtype)
        self.reader = Reader(
            self.num_pools,
            self.hidden_size,
            self.input_size if read_input else None,
            self.output_size,
            self.viewport_size,
            normalise is not None,
            activation,
            device,
            dtype,
        )
        self.register_buffer("_carry", None, persistent=False)
        self.register_buffer("_feed", None, persistent=False)
        self._make_buffers()
        self.reset_parameters()

    @classmethod
    def for_horizon(
        cls,
        input_size: int,
        hidden_size: int,
        horizon: float,
        *,
        base: float = 2.0,
        state: State = "gru",
        **options: Any,
    ) -> Self:
        """A module with the fewest pools that reach back `horizon` steps.

        **Arguments:**

        - `input_size`, `hidden_size`, `base`, `state`: as for the class.
        - `horizon`: the mean age, in steps, that the contents of the last pool must reach.
        - `options`: other arguments of the class, except `num_layers`.
        """
        count = pools_for(horizon, base, cls._wiring)
        count += state == "lstm" and count % 2
        make = cast(Callable[..., Self], cls)
        return make(input_size, hidden_size, count, base=base, state=state, **options)

    def reset_parameters(self) -> None:
        """Draw new initial parameters: the matrix that writes is a_1 times a padded identity."""
        with torch.no_grad():
            self.write.copy_(self.rates[0] * torch.eye(*self.write.shape, device=self.write.device))
        self.reader.reset_parameters()

    def flatten_parameters(self) -> None:
        """Do nothing: callers of nn.LSTM call it."""

    def extra_repr(self) -> str:
        shown = f"{self.input_size}, {self.hidden_size}, num_layers={self.num_pools}"
        names = ("output_size", "base", "viewport_size", "gradient_pools", "read_input")
        names += ("normalise", "batch_first", "state")
        return ", ".join([shown, *(f"{name}={getattr(self, name)!r}" for name in names)])

    def like(self, given: Tensor) -> Tensor:
        """A tensor of the dtype and device that inputs and states must have."""
        return self.write

    def pools(self, begin: int = 0, end: int | None = None) -> Pools:
        """The pools from number `begin` up to `end`, and the factor of what feeds them.

        The learned matrix takes the place of a_1, so what it writes is divided by a_1. The chain's
        later pools are fed by the pool before, every pool of the bank by what is written.
        """
        fed_by_pool = begin > 0 and self._wiring == "chain"
        scale = 1.0 if fed_by_pool else 1.0 / self.rates[0]
        return Pools(self.rates[begin:end], self._wiring, scale)

    def step(
        self, x: Tensor, state: Tensor, start: Tensor | None, start_state: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """One step without checks: the same function as `forward` over one step.

        **Arguments:**

        - `x`: the input, of shape `(batch, input_size)`.
        - `state`: the pools, of shape `(num_pools, batch, hidden_size)`.
        - `start`: which sequences start here, of shape `(batch,)`, or None.
        - `start_state`: the pools with which they start, or None: empty pools.

        **Returns:**

        The outputs `(batch, output_size)`, and the pools after the step.
        """
        drive = F.linear(x, self.write)
        if start is not None:
            cleared = torch.zeros_like(state) if start_state is None else start_state.detach()
            state = torch.where(start[None, :, None], cleared, state)
        count, batch, size = state.shape
        # Products of pools stay in their own precision.
        mixed = torch.is_autocast_enabled(x.device.type)
        exact = torch.autocast(x.device.type, enabled=False) if mixed else contextlib.nullcontext()
        with exact:
            fed = self._feed * drive.to(state.dtype).reshape(1, -1)
            pools = torch.addmm(fed, self._carry, state.reshape(count, -1))
        pools = pools.view(count, batch, size)
        live = self.gradient_pools
        if live < count and torch.is_grad_enabled():
            pools = torch.cat([pools[:live], pools[live:].detach()])
        views = self.reader.view(pools, self.reader.viewports)
        return self.reader.summarise(x, [views]), pools

    def _make_buffers(self) -> None:
        """The matrices of one step, p_t = carry p_{t-1} + feed u_t, rounded once."""
        carry, feed = make_matrices(self.pools())

        def convert(array: np.ndarray) -> Tensor:
            return torch.tensor(array, dtype=self.write.dtype, device=self.write.device)

        self._carry, self._feed = convert(carry), convert(feed[:, None])

    def _apply(self, fn: Any, recurse: bool = True) -> Self:
        super()._apply(fn, recurse)
        self._make_buffers()
        return self
