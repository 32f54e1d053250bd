"""The LP-RNN of the paper, nicknamed Concrete, and its control: over sequences, and by steps.

Section 2 of the paper, its figure 1 and appendix D (schematics).
"""

from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

from longpass.theory import Wiring
from longpass.torch._arguments import (
    Call,
    HiddenState,
    cast_input,
    check_tensor,
    finish_call,
    prepare_call,
    prepare_state,
    split_state,
)
from longpass.torch._filters import filter_pools, take_last
from longpass.torch._frozen_pools import read_frozen
from longpass.torch._pooled import Pooled


class PooledSequence(Pooled):
    """`Concrete` or `Parallel`: reads whole sequences, as nn.GRU does."""

    def forward(
        self,
        input: Tensor | PackedSequence,
        hx: HiddenState | None = None,
        starts: Tensor | None = None,
        start_states: HiddenState | None = None,
        block_every: int | None = None,
    ) -> tuple[Any, Any]:
        """Read sequences.

        **Arguments:**

        - `input`: of shape `(time, batch, input_size)`, `(batch, time, input_size)` with
          `batch_first`, or `(time, input_size)`; or a PackedSequence.
        - `hx`: the pools before the first step, `(num_layers, batch, hidden_size)`, without the
          batch's axis if the input has none; a pair of them with `state="lstm"`. None: empty.
        - `starts`: where sequences start, bool, of the shape of `input` without its last axis. The
          pools are cleared *before* the input of such a step is read.
        - `start_states`: the pools with which they start instead of empty ones, of the shape of
          `starts` and then `(num_layers, hidden_size)`. Only those at starts are read; they pass no
          gradient. A pair with `state="lstm"`.
        - `block_every`: stop gradients through the state that is carried into steps `block_every`,
          2 `block_every`, ... Outputs do not change.

        **Returns:**

        The outputs, of width `output_size` and otherwise of the shape of `input`, and the state
        after the last step of each sequence, of the shape of `hx`.
        """
        call = prepare_call(self, input, hx, starts, start_states, block_every)
        output, state = self._unroll(call, block_every)
        return finish_call(self, call, output, state)

    def _unroll(self, call: Call, block_every: int | None) -> tuple[Tensor, Tensor]:
        x, state, starts, start_states, lengths, *_ = call
        length, batch, _ = x.shape
        if length == 1:
            start = None if starts is None else starts[0]
            begin = None if start_states is None else start_states[0]
            output, state = self.step(x[0], state, start, begin)
            return output.unsqueeze(0), state
        live, reader = self.gradient_pools, self.reader
        drive = F.linear(x, self.write).to(state.dtype)
        fast, slow = reader.viewports.split([live, self.num_pools - live])
        views, last = [], []
        fed = drive
        if live:
            begins = None if start_states is None else start_states[:, :live]
            pools = filter_pools(
                self.pools(0, live), state[:live], drive, starts, begins, block_every
            )
            view = reader.view(pools.flatten(1, 2), fast)
            views.append(view.view(length, batch, live * self.viewport_size))
            last.append(take_last(state[:live], pools, lengths))
            fed = pools[-1] if self._wiring == "chain" else drive
        if live < self.num_pools:
            after, view = read_frozen(
                self.pools(live),
                state[live:],
                fed,
                slow,
                starts=starts,
                start_states=None if start_states is None else start_states[:, live:],
                lengths=lengths,
                normalise=reader.normalise,
            )
            views.append(view)
            last.append(after)
        return reader.summarise(x, views), torch.cat(last)


class PooledCell(Pooled):
    """`ConcreteCell` or `ParallelCell`: reads one step, for acting and for export."""

    def forward(
        self, input: Tensor, hx: HiddenState | None = None, start: Tensor | None = None
    ) -> tuple[Tensor, Any]:
        """Read one step.

        **Arguments:**

        - `input`: of shape `(batch, input_size)` or `(input_size,)`.
        - `hx`: the pools before the step, `(num_layers, batch, hidden_size)`, or
          `(num_layers, hidden_size)` if the input has no batch; a pair with `state="lstm"`.
          None: empty.
        - `start`: which sequences start here, bool, of shape `(batch,)` or `()`. Their pools are
          cleared before the input is read. None: no one.

        **Returns:**

        The outputs `(batch, output_size)`, or `(output_size,)`, and the state after the step.
        """
        if input.ndim not in (1, 2) or input.shape[-1] != self.input_size:
            raise ValueError(
                f"{type(self).__name__}: input has shape {tuple(input.shape)}: it must be (batch, "
                f"input_size) or (input_size,), with input_size {self.input_size}"
            )
        x = cast_input(self, input)
        batched = x.ndim == 2
        state = prepare_state(self, hx, x.shape[0] if batched else None, x)
        if start is not None:
            check_tensor(self, "start", start, tuple(x.shape[:-1]), torch.bool, x.device)
        if batched:
            output, state = self.step(x, state, start)
            return output, split_state(self, state)
        start = None if start is None else start.unsqueeze(0)
        output, state = self.step(x.unsqueeze(0), state, start)
        return output.squeeze(0), split_state(self, state.squeeze(1))


class Concrete(PooledSequence):
    """The LP-RNN with the interface of nn.GRU: a chain of low-pass pools, and its reader.

    Pools are layers. At each step a learned matrix writes the input into pool 1, every pool filters
    the pool before it, a viewport (a small layer) reads each pool, and a summariser reads all
    viewports. It is the same function as `longpass.memory.Concrete`.

    >>> memory = Concrete(10, 64)
    >>> output, h = memory(torch.ones(300, 32, 10))
    >>> tuple(output.shape), tuple(h.shape)
    ((300, 32, 64), (8, 32, 64))
    """

    _wiring: ClassVar[Wiring] = "chain"


class Parallel(PooledSequence):
    """The control: as `Concrete`, but every pool filters what is written, in parallel.

    >>> output, h = Parallel(10, 64, num_layers=5)(torch.ones(300, 32, 10))
    >>> tuple(output.shape), tuple(h.shape)
    ((300, 32, 64), (5, 32, 64))
    """

    _wiring: ClassVar[Wiring] = "parallel"


class ConcreteCell(PooledCell):
    """One step of `Concrete`, with the same arguments and the same parameters.

    `cell.load_state_dict(concrete.state_dict())` copies weights.

    >>> cell = ConcreteCell(10, 64)
    >>> output, h = cell(torch.ones(32, 10))
    >>> output, h = cell(torch.ones(32, 10), h, start=torch.zeros(32, dtype=torch.bool))
    >>> tuple(output.shape), tuple(h.shape)
    ((32, 64), (8, 32, 64))
    """

    _wiring: ClassVar[Wiring] = "chain"


class ParallelCell(PooledCell):
    """One step of `Parallel`, with the same arguments and the same parameters.

    >>> output, h = ParallelCell(10, 64)(torch.ones(10))
    >>> tuple(output.shape), tuple(h.shape)
    ((64,), (8, 64))
    """

    _wiring: ClassVar[Wiring] = "parallel"
