"""Reading pools that pass no gradient, without keeping them.

Only the viewports learn here. Their gradient needs the pools, so the backward pass runs the pools
again, chunk by chunk, while each chunk is in the caches. What is kept are the operator's inputs.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from longpass.torch._filters import cut_time, run_pools
from longpass.torch._operators import finish_operator
from longpass.torch._tables import Pools


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
    return _Read.apply(state.detach(), drive.detach(), viewports, *rest)


def normalise_pools(pools: Tensor) -> Tensor:
    """Mean 0 and variance 1 over the units; an empty pool stays 0. As in `longpass.memory`."""
    mean = pools.mean(dim=-1, keepdim=True)
    variance = (pools.square().mean(dim=-1, keepdim=True) - mean.square()).clamp_min(0.0)
    return (pools - mean) * torch.rsqrt(variance + 1e-6)


@torch.library.custom_op("longpass::read", mutates_args=())
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
    (length, batch, size), (k, width, _) = drive.shape, viewports.shape
    views = drive.new_empty(length * batch, k, width)
    last = state.clone()
    ends: dict[int, Tensor] = {}
    if lengths is not None:
        ends = {end: lengths == end for end in set(lengths.tolist())}
    pools = Pools(tuple(rates), "chain" if wiring == "chain" else "parallel", scale)
    cuts = cut_time(length, starts, ends)
    columns = viewports.transpose(1, 2)
    for cut, chunk in run_pools(pools, state, drive, starts, start_states, cuts):
        seen = normalise_pools(chunk) if normalise else chunk
        view = torch.bmm(seen.view(k, -1, size), columns)
        views[cut.begin * batch : cut.end * batch] = view.transpose(0, 1)
        if lengths is None and cut.end == length:
            last.copy_(chunk[:, -1])
        elif cut.end in ends:
            mask = ends[cut.end]
            last[:, mask] = chunk[:, -1, mask]
    return last, views.view(length, batch, k * width)


@torch.library.custom_op("longpass::read_transposed", mutates_args=())
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
    """The gradient in the viewports (k, viewport, size), from gradients (time, batch, views)."""
    (length, batch, size), k = drive.shape, len(rates)
    flat = grads.reshape(length * batch, k, -1)
    out = drive.new_zeros(k, flat.shape[-1], size)
    pools = Pools(tuple(rates), "chain" if wiring == "chain" else "parallel", scale)
    cuts = cut_time(length, starts)
    for cut, chunk in run_pools(pools, state, drive, starts, start_states, cuts):
        seen = normalise_pools(chunk) if normalise else chunk
        here = flat[cut.begin * batch : cut.end * batch].permute(1, 2, 0)
        out.baddbmm_(here, seen.view(k, -1, size))
    return out


@_read.register_fake
def _(state, drive, viewports, *rest):
    views = drive.new_empty(*drive.shape[:2], viewports.shape[0] * viewports.shape[1])
    return torch.empty_like(state), views


@_read_transposed.register_fake
def _(grads, state, drive, starts, start_states, normalise, rates, wiring, scale):
    return drive.new_empty(len(rates), grads.shape[-1] // len(rates), drive.shape[-1])


for _operator in (_read, _read_transposed):
    finish_operator(_operator)


class _Read(torch.autograd.Function):
    """Views from viewports: the derivative runs the pools again."""

    generate_vmap_rule = True

    @staticmethod
    def forward(state, drive, viewports, starts, start_states, lengths, *rest):
        return _read(state, drive, viewports, starts, start_states, lengths, *rest)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        state, drive, _, starts, start_states, _, *ctx.rest = inputs
        ctx.save_for_backward(state, drive, starts, start_states)
        ctx.mark_non_differentiable(output[0])

    @staticmethod
    def backward(ctx: Any, _: Any, grads: Tensor) -> tuple:  # pyright: ignore[reportIncompatibleMethodOverride]
        # The compiler takes no derivative of a derivative, and knows operators only.
        pull = _read_transposed if torch.compiler.is_compiling() else _ReadTransposed.apply
        viewports = pull(grads, *ctx.saved_tensors, *ctx.rest)
        return None, None, viewports, *(None,) * 7


class _ReadTransposed(torch.autograd.Function):
    """The gradient in the viewports from that in the views: linear, so reading is its derivative."""

    generate_vmap_rule = True

    @staticmethod
    def forward(grads, state, drive, starts, start_states, *rest):
        return _read_transposed(grads, state, drive, starts, start_states, *rest)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        _, state, drive, starts, start_states, *ctx.rest = inputs
        ctx.save_for_backward(state, drive, starts, start_states)

    @staticmethod
    def backward(ctx: Any, viewports: Tensor) -> tuple:  # pyright: ignore[reportIncompatibleMethodOverride]
        state, drive, starts, start_states = ctx.saved_tensors
        _, grads = _Read.apply(state, drive, viewports, starts, start_states, None, *ctx.rest)
        return grads, *(None,) * 8
