"""Pools as linear filters over time: one operator and its transpose, both with derivatives.

Time is cut into chunks. Within a chunk of n steps the pools are one product with a table of impulse
responses (`_tables.py`); from chunk to chunk only the last pools are carried. Chunks begin where a
sequence starts, so that a start clears what is carried and changes no table: nothing of what was
before it can leak, not even a NaN.

Filters are linear. The gradient is the transposed operator, which runs through time backwards, and
the gradient of that is the operator again. So nothing has to be kept for the backward pass, and
`block_every` clears what the *transposed* operator carries: outputs do not change by a bit.

Both are operators of PyTorch (`torch.library`), which `torch.compile` does not look into.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from longpass.torch._operators import make_operator
from longpass.torch._tables import Pools, make_table

# The most steps per chunk, measured on two CPU cores.
CHUNK = 16


class Cut(NamedTuple):
    """A chunk of time: its steps, and whether some sequence starts at the first."""

    begin: int
    end: int
    starts: bool


def cut_time(length: int, starts: Tensor | None, others: Iterable[int] = ()) -> list[Cut]:
    """Cut `length` steps into chunks.

    **Arguments:**

    - `length`: number of steps.
    - `starts`: where sequences start, of shape `(time, batch)`, or None.
    - `others`: further steps at which a chunk must begin.

    **Returns:**

    The chunks in their order, each of at most `CHUNK` steps.
    """
    starting: list[int] = []
    if starts is not None:
        starting = starts.any(dim=1).nonzero().flatten().tolist()
    if not length:
        return []
    edges = sorted({0, length, *starting, *(step for step in others if step < length)})
    begins = [
        begin
        for low, high in itertools.pairwise(edges)
        for begin in range(low, high, -(-(high - low) // -(-(high - low) // CHUNK)))
    ]
    known = set(starting)
    return [
        Cut(begin, end, begin in known)
        for begin, end in zip(begins, [*begins[1:], length], strict=True)
    ]


def run_pools(
    pools: Pools,
    state: Tensor,
    drive: Tensor,
    starts: Tensor | None,
    start_states: Tensor | None,
    cuts: Sequence[Cut],
    clear_at: Callable[[int], bool] = lambda step: False,
    into: Tensor | None = None,
) -> Iterator[tuple[Cut, Tensor]]:
    """Run the pools chunk by chunk.

    **Arguments:**

    - `pools`: rates and wiring.
    - `state`: the k pools before the first step, of shape `(k, batch, size)`.
    - `drive`: what feeds the pools, of shape `(time, batch, size)`.
    - `starts`: where sequences start, of shape `(time, batch)`, or None.
    - `start_states`: the pools with which they start, of shape `(time, k, batch, size)`, or None:
      empty pools.
    - `cuts`: from `cut_time`.
    - `clear_at`: whether all pools are cleared at a step.
    - `into`: where to write the pools, of shape `(1, time, batch, size)`. None, or more than one
      pool: the same memory for all chunks, so that it stays in the caches.

    **Returns:**

    Each chunk, and its pools of shape `(k, steps, batch, size)`, which are valid until the next
    chunk is asked for.
    """
    k, batch, size = state.shape
    width = batch * size
    flat = drive.reshape(-1, width)
    longest = max((cut.end - cut.begin for cut in cuts), default=0)
    # What a chunk is computed from: the pools that enter it, then its inputs.
    rows = flat.new_empty(k + longest, width)
    carried = rows[:k].view(k, batch, size)
    carried.copy_(state)
    scratch = flat.new_empty(0 if k == 1 and into is not None else k * longest, width)
    for cut in cuts:
        if cut.starts:
            assert starts is not None
            _start(carried, starts[cut.begin], start_states, cut.begin)
        if clear_at(cut.begin):
            carried.zero_()
        steps = cut.end - cut.begin
        if k == 1 and into is not None:
            chunk = into.view(-1, width)[cut.begin : cut.end]
        else:
            chunk = scratch[: k * steps]
        rows[k : k + steps] = flat[cut.begin : cut.end]
        table = make_table(pools, steps, drive.dtype, drive.device)
        torch.mm(table, rows[: k + steps], out=chunk)
        rows[:k] = chunk.view(k, steps, width)[:, -1]
        yield cut, chunk.view(k, steps, batch, size)


def _start(carried: Tensor, start: Tensor, start_states: Tensor | None, step: int) -> None:
    """Replace the pools (k, batch, size) of the sequences that start."""
    mask = start[None, :, None]
    if start_states is None:
        carried.masked_fill_(mask, 0.0)
    else:
        carried.copy_(torch.where(mask, start_states[step], carried))


def filter_pools(
    pools: Pools,
    state: Tensor,
    drive: Tensor,
    starts: Tensor | None = None,
    start_states: Tensor | None = None,
    block_every: int | None = None,
) -> Tensor:
    """All pools at all steps. Differentiable in `state` and `drive`, as often as wanted.

    **Arguments:**

    - `pools`: rates and wiring.
    - `state`: the k pools before the first step, of shape `(k, batch, size)`.
    - `drive`: what feeds the pools, of shape `(time, batch, size)`.
    - `starts`: where sequences start, of shape `(time, batch)`, or None.
    - `start_states`: the pools with which they start, of shape `(time, k, batch, size)`; they pass
      no gradient. None: empty pools.
    - `block_every`: stop gradients through the pools every `block_every` steps. None: never.

    **Returns:**

    The pools, of shape `(k, time, batch, size)`.
    """
    every = block_every or 0
    return _apply(state, drive, starts, start_states, every, False, *_spread(pools))


def take_last(state: Tensor, pools: Tensor, lengths: Tensor | None) -> Tensor:
    """The pools after the last step of each sequence.

    **Arguments:**

    - `state`: the pools before the first step, of shape `(k, batch, size)`.
    - `pools`: from `filter_pools`.
    - `lengths`: the number of steps of each sequence, of shape `(batch,)`, or None: all.
    """
    if pools.shape[1] == 0:
        return state
    if lengths is None:
        return pools[:, -1]
    return pools[:, lengths - 1, torch.arange(len(lengths), device=pools.device)]


def _spread(pools: Pools) -> tuple[list[float], str, float]:
    """The pools as types that operators of PyTorch take."""
    return list(pools.rates), pools.wiring, pools.scale


def gather_pools(rates: Sequence[float], wiring: str, scale: float) -> Pools:
    """The pools from the types that operators of PyTorch take."""
    return Pools(tuple(rates), "chain" if wiring == "chain" else "parallel", scale)


def _filter(
    state: Tensor,
    drive: Tensor,
    starts: Tensor | None,
    start_states: Tensor | None,
    block_every: int,
    clears: bool,
    rates: Sequence[float],
    wiring: str,
    scale: float,
) -> Tensor:
    """The pools (k, time, batch, size); with `clears`, what blocks gradients clears pools."""
    every = block_every if clears else 0
    length = drive.shape[0]
    out = drive.new_empty(len(rates), *drive.shape)
    cuts = cut_time(length, starts, range(every, length, every) if every else ())
    pools = gather_pools(rates, wiring, scale)
    run = run_pools(
        pools, state, drive, starts, start_states, cuts, lambda step: _blocks(step, every), out
    )
    for cut, chunk in run:
        if len(rates) > 1:
            out[:, cut.begin : cut.end] = chunk
    return out


def _filter_transposed(
    grads: Tensor,
    starts: Tensor | None,
    block_every: int,
    rates: Sequence[float],
    wiring: str,
    scale: float,
) -> tuple[Tensor, Tensor]:
    """(Gradient in the state, gradient in the drive) from gradients (k, time, batch, size)."""
    k, length, batch, size = grads.shape
    width = batch * size
    flat = grads.reshape(k, length, width)
    drive = grads.new_empty(length, width)
    carried = grads.new_zeros(k, width)
    pools = gather_pools(rates, wiring, scale)
    others = range(block_every, length, block_every) if block_every else ()
    for cut in reversed(cut_time(length, starts, others)):
        steps = cut.end - cut.begin
        table = make_table(pools, steps, grads.dtype, grads.device)
        chunk = flat[:, cut.begin : cut.end].reshape(k * steps, width)
        # The pools that leave the chunk are those of its last step.
        rows = torch.addmm(table.T @ chunk, table[steps - 1 :: steps].T, carried)
        drive[cut.begin : cut.end] = rows[k:]
        carried = rows[:k]
        if cut.starts:
            assert starts is not None
            carried.view(k, batch, size).masked_fill_(starts[cut.begin][None, :, None], 0.0)
        if _blocks(cut.begin, block_every):
            carried.zero_()
    return carried.reshape(k, batch, size).clone(), drive.view(length, batch, size)


def _blocks(step: int, every: int) -> bool:
    """Whether gradients are stopped at a step. The first state is the caller's."""
    return every > 0 and step > 0 and step % every == 0


def _shape(state, drive, starts, start_states, block_every, clears, rates, wiring, scale):
    return drive.new_empty(len(rates), *drive.shape)


def _shape_transposed(grads, starts, block_every, rates, wiring, scale):
    return grads.new_empty(grads.shape[:1] + grads.shape[2:]), grads.new_empty(grads.shape[1:])


def _keep(ctx: Any, inputs: tuple, output: Any) -> None:
    _, _, starts, _, block_every, _, *pools = inputs
    ctx.save_for_backward(starts)
    ctx.block_every, ctx.pools = block_every, pools


def _keep_transposed(ctx: Any, inputs: tuple, output: Any) -> None:
    _, starts, block_every, *pools = inputs
    ctx.save_for_backward(starts)
    ctx.block_every, ctx.pools = block_every, pools


def _pull(ctx: Any, grads: Tensor) -> tuple:
    state, drive = _apply_transposed(grads, *ctx.saved_tensors, ctx.block_every, *ctx.pools)
    return state, drive, *(None,) * 7


def _pull_transposed(ctx: Any, state: Tensor, drive: Tensor) -> tuple:
    grads = _apply(state, drive, *ctx.saved_tensors, None, ctx.block_every, True, *ctx.pools)
    return grads, *(None,) * 5


# Each is the derivative of the other.
_apply = make_operator("filter", _filter, _shape, _keep, _pull)
_apply_transposed = make_operator(
    "filter_transposed", _filter_transposed, _shape_transposed, _keep_transposed, _pull_transposed
)
