"""Pools alone: a chain, and the parallel bank that is its control. Nothing is learned.

The recursion of section 2 of the paper; the bank is figure 1b.
"""

from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from longpass import _checks
from longpass._rates import Rates
from longpass.theory import Wiring
from longpass.torch._arguments import HiddenState, finish_call, prepare_call
from longpass.torch._filters import filter_pools, take_last
from longpass.torch._pooled import State
from longpass.torch._tables import Pools


class PoolModule(nn.Module):
    """`PoolChain` or `PoolBank`. It has no parameters: dtype and device are the input's."""

    _wiring: ClassVar[Wiring]

    def __init__(self, size: int, rates: Rates, *, batch_first: bool = False, state: State = "gru"):
        """**Arguments:**

        - `size`: width of the input and of every pool.
        - `rates`: a_1 .. a_k, each in (0, 1], such as `longpass.rates(2.0, 8)`.
        - `batch_first`: whether inputs and outputs are (batch, time, ...).
        - `state`: `"gru"`, one tensor `(k, batch, size)`, or `"lstm"`, a pair of halves.
        """
        super().__init__()
        self.input_size = self.hidden_size = _checks.positive_int("size", size)
        self.rates = _checks.rates_tuple(rates)
        self.num_pools = len(self.rates)
        _checks.one_of("state", state, ("gru", "lstm"))
        if state == "lstm" and self.num_pools % 2:
            raise ValueError(
                f"rates has {self.num_pools} numbers: with state='lstm' it must have an even number"
            )
        self.num_layers = self.num_pools // 2 if state == "lstm" else self.num_pools
        self.batch_first, self.state = bool(batch_first), state

    def like(self, given: Tensor) -> Tensor:
        """A tensor of the dtype and device that inputs and states must have."""
        mixed = torch.is_autocast_enabled(given.device.type) and given.dtype.itemsize < 4
        if (given.is_floating_point() or given.is_complex()) and not mixed:
            return given
        return torch.empty((), device=given.device)

    def extra_repr(self) -> str:
        return f"{self.input_size}, {list(self.rates)}, batch_first={self.batch_first}"

    def forward(
        self,
        input: Tensor | PackedSequence,
        hx: HiddenState | None = None,
        starts: Tensor | None = None,
        start_states: HiddenState | None = None,
        block_every: int | None = None,
    ) -> tuple[Any, Any]:
        """Read sequences. Arguments are those of `Concrete`.

        **Returns:**

        All pools at all steps, of shape `(time, batch, k, size)`, or as the input's layout has it,
        and the pools after the last step of each sequence.
        """
        call = prepare_call(self, input, hx, starts, start_states, block_every)
        pools = filter_pools(
            Pools(self.rates, self._wiring, 1.0),
            call.state,
            call.x.to(call.state.dtype),
            call.starts,
            call.start_states,
            block_every,
        )
        last = take_last(call.state, pools, call.lengths)
        return finish_call(self, call, pools.permute(1, 2, 0, 3), last)


class PoolChain(PoolModule):
    """A chain of low-pass pools: pool 1 filters the input, pool n filters pool n - 1.

    p[n]_t = a_n p[n-1]_t + (1 - a_n) p[n]_{t-1}, with p[0] the input.

    >>> pools, h = PoolChain(2, [0.5, 0.25])(torch.ones(3, 5, 2))
    >>> tuple(pools.shape), tuple(h.shape)
    ((3, 5, 2, 2), (2, 5, 2))
    """

    _wiring: ClassVar[Wiring] = "chain"


class PoolBank(PoolModule):
    """Parallel low-pass pools: each filters the input at its own rate.

    p[n]_t = a_n h_t + (1 - a_n) p[n]_{t-1}.

    >>> pools, h = PoolBank(2, [0.5, 0.25])(torch.ones(3, 5, 2))
    >>> tuple(pools.shape), tuple(h.shape)
    ((3, 5, 2, 2), (2, 5, 2))
    """

    _wiring: ClassVar[Wiring] = "parallel"
