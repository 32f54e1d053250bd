"""Reading pools that pass no gradient, without keeping them.

Only the viewports learn here. Two exact forms, which keep nothing but the operator's inputs:

- *by views*: viewports and filters are both linear, so they commute. Inputs pass the viewports
  first, from `size` down to `viewport` numbers, and the impulse table afterwards. Pools are
  computed only where chunks meet. For unrolls without starts, of pools that are not normalised.
- *by pools*: pools are run chunk by chunk and read while they are in the caches; the backward pass
  runs them again.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from longpass.torch._filters import cut_time, gather_pools, run_pools
from longpass.torch._operators import make_operator
from longpass.torch._tables import Pools, make_table

# Steps per chunk of the form by views, measured on two CPU cores.
CHUNK = 32


def read_frozen(
    pools: Pools,
    state: Tensor,
    drive: Tensor,
    viewports: Tensor,
    *,
    starts: Tensor | None,
    start_states: Tensor | None,
    lengths: Tensor | None,
    normalise: bool,
) -> tuple[Tensor, Tensor]:
    """Read pools; the viewports learn, and no gradient passes into anything else.

    **Arguments:**

    - `pools`: rates and wiring of the k pools.
    - `state`: the pools before the first step, of shape `(k, batch, size)`.
    - `drive`: what feeds them, of shape `(time, batch, size)`.
    - `viewports`: one layer per pool, of shape `(k, viewport, size)`.
    - `starts`: where sequences start, of shape `(time, batch)`, or None.
    - `start_states`: the pools with which they start, of shape `(time, k, batch, size)`, or None.
    - `lengths`: the number of steps of each sequence, of shape `(batch,)`, or None: all.
    - `normalise`: whether the viewports see normalised pools.

    **Returns:**

    The pools after the last step of each sequence, of shape `(k, batch, size)`, and what the
    viewports make of them, of shape `(time, batch, k * viewport)`.
    """
    rest = (starts, start_states, lengths, normalise, list(pools.rates), pools.wiring, pools.scale)
    last, views = _apply(state.detach(), drive.detach(), viewports, *rest)
    return last.detach(), views


def normalise_pools(pools: Tensor) -> Tensor:
    """Mean 0 and variance 1 over the units; an empty pool stays 0. As in `longpass.memory`."""
    mean = pools.mean(dim=-1, keepdim=True)
    variance = (pools.square().mean(dim=-1, keepdim=True) - mean.square()).clamp_min(0.0)
    return (pools - mean) * torch.rsqrt(variance + 1e-6)


def _read(
    state: Tensor,
    drive: Tensor,
    viewports: Tensor,
    starts: Tensor | None,
    start_states: Tensor | None,
    lengths: Tensor | None,
    normalise: bool,
    rates: Sequence[float],
    wiring: str,
    scale: float,
) -> tuple[Tensor, Tensor]:
    pools = gather_pools(rates, wiring, scale)
    length, batch, size = drive.shape
    if length and starts is None and lengths is None and not normalise:
        rows = _split_into_rows(pools, state, drive)
        return rows.last, _view_rows(rows, viewports, length)
    k, width, _ = viewports.shape
    views = drive.new_empty(length * batch, k, width)
    last = state.clone()
    ends: dict[int, Tensor] = {}
    if lengths is not None:
        ends = {end: lengths == end for end in set(lengths.tolist())}
    cuts = cut_time(length, starts, ends)
    for cut, chunk in run_pools(pools, state, drive, starts, start_states, cuts):
        seen = normalise_pools(chunk) if normalise else chunk
        view = torch.bmm(seen.view(k, -1, size), viewports.transpose(1, 2))
        views[cut.begin * batch : cut.end * batch] = view.transpose(0, 1)
        if lengths is None and cut.end == length:
            last.copy_(chunk[:, -1])
        elif cut.end in ends:
            mask = ends[cut.end]
            last[:, mask] = chunk[:, -1, mask]
    return last, views.view(length, batch, k * width)


def _read_transposed(
    grads: Tensor,
    state: Tensor,
    drive: Tensor,
    starts: Tensor | None,
    start_states: Tensor | None,
    normalise: bool,
    rates: Sequence[float],
    wiring: str,
    scale: float,
) -> Tensor:
    """The gradient in the viewports (k, viewport, size), from that in the views."""
    pools = gather_pools(rates, wiring, scale)
    (length, batch, size), k = drive.shape, len(rates)
    if length and starts is None and not normalise:
        return _pull_views(_split_into_rows(pools, state, drive), grads)
    flat = grads.reshape(length * batch, k, -1)
    out = drive.new_zeros(k, flat.shape[-1], size)
    for cut, chunk in run_pools(
        pools, state, drive, starts, start_states, cut_time(length, starts)
    ):
        seen = normalise_pools(chunk) if normalise else chunk
        here = flat[cut.begin * batch : cut.end * batch].permute(1, 2, 0)
        out.baddbmm_(here, seen.view(k, -1, size))
    return out


class _Rows(NamedTuple):
    """An unroll split into q chunks of C steps, the last one padded with zeros."""

    rows: Tensor
    """What each chunk is computed from, of shape (q, k + C, batch, size): pools, then inputs."""
    weights: Tensor
    """The weight of each row in each pool at each step, of shape (k, 1, C, k + C)."""
    last: Tensor
    """The pools after the last step, of shape (k, batch, size)."""


def _split_into_rows(pools: Pools, state: Tensor, drive: Tensor) -> _Rows:
    """Split an unroll into chunks and compute the pools that enter each."""
    length, batch, size = drive.shape
    k, width = len(pools.rates), batch * size
    count = -(-length // CHUNK)
    steps = -(-length // count)
    table = make_table(pools, steps, drive.dtype, drive.device)
    weights = table.view(k, steps, k + steps)
    rows = drive.new_empty(count, k + steps, width)
    flat = drive.reshape(length, width)
    entering = state.reshape(k, width)
    for place in range(count):
        here = flat[place * steps : (place + 1) * steps]
        real = len(here)
        chunk = rows[place]
        chunk[:k] = entering
        chunk[k : k + real] = here
        chunk[k + real :] = 0.0
        entering = weights[:, real - 1] @ chunk
    return _Rows(
        rows.view(count, k + steps, batch, size), weights[:, None], entering.view_as(state)
    )


def _view_rows(rows: _Rows, viewports: Tensor, length: int) -> Tensor:
    """The views (time, batch, k viewport)."""
    (count, height, batch, size), (k, width, _) = rows.rows.shape, viewports.shape
    # One product for all viewports, and then one pool after the other: each is too narrow alone.
    seen = rows.rows.view(-1, size) @ viewports.reshape(-1, size).T
    seen = seen.view(-1, k, width).transpose(0, 1).reshape(k, count, height, batch * width)
    views = torch.matmul(rows.weights, seen).view(k, -1, batch, width)[:, :length]
    return views.permute(1, 2, 0, 3).reshape(length, batch, k * width)


def _pull_views(rows: _Rows, grads: Tensor) -> Tensor:
    """The gradient in the viewports (k, viewport, size)."""
    (count, _, batch, size), (k, _, steps, _) = rows.rows.shape, rows.weights.shape
    length, width = len(grads), grads.shape[-1] // k
    each = grads.reshape(length, batch, k, width).permute(2, 0, 1, 3)
    if length < count * steps:
        each = torch.nn.functional.pad(each, (0, 0, 0, 0, 0, count * steps - length))
    each = each.reshape(k, count, steps, batch * width)
    seen = torch.matmul(rows.weights.transpose(2, 3), each)
    seen = seen.view(k, -1, width).transpose(0, 1).reshape(-1, k * width)
    return (seen.T @ rows.rows.view(-1, size)).view(k, width, size)


def _shape(state, drive, viewports, *rest):
    views = drive.new_empty(*drive.shape[:2], viewports.shape[0] * viewports.shape[1])
    return torch.empty_like(state), views


def _shape_transposed(grads, state, drive, starts, start_states, normalise, rates, wiring, scale):
    return drive.new_empty(len(rates), grads.shape[-1] // len(rates), drive.shape[-1])


def _keep(ctx: Any, inputs: tuple, output: Any) -> None:
    state, drive, _, starts, start_states, _, *ctx.rest = inputs
    ctx.save_for_backward(state, drive, starts, start_states)


def _keep_transposed(ctx: Any, inputs: tuple, output: Any) -> None:
    _, state, drive, starts, start_states, *ctx.rest = inputs
    ctx.save_for_backward(state, drive, starts, start_states)


def _pull(ctx: Any, _: Any, grads: Tensor) -> tuple:
    viewports = _apply_transposed(grads, *ctx.saved_tensors, *ctx.rest)
    return None, None, viewports, *(None,) * 7


def _pull_transposed(ctx: Any, viewports: Tensor) -> tuple:
    state, drive, starts, start_states = ctx.saved_tensors
    _, grads = _apply(state, drive, viewports, starts, start_states, None, *ctx.rest)
    return grads, *(None,) * 8


# Views are linear in viewports, so that each is the derivative of the other.
_apply = make_operator("read", _read, _shape, _keep, _pull)
_apply_transposed = make_operator(
    "read_transposed", _read_transposed, _shape_transposed, _keep_transposed, _pull_transposed
)
