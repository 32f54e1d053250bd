"""Checks of what callers pass in, and the layouts of `nn.GRU`: batch first, unbatched, packed."""

from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from longpass import _checks

# One tensor, or (h, c) with the fast half of the pools in h and the slow half in c.
HiddenState = Tensor | tuple[Tensor, Tensor]


class HasPools(Protocol):
    """What the checks need to know of a module."""

    input_size: int
    hidden_size: int
    num_pools: int
    batch_first: bool
    state: str

    def like(self, given: Tensor) -> Tensor:
        """A tensor of the dtype and device that inputs and states must have."""
        ...


class Call(NamedTuple):
    """The arguments of a call, time first and with a batch, and how to give the results back."""

    x: Tensor
    """Of shape (time, batch, input_size)."""
    state: Tensor
    """Of shape (num_pools, batch, hidden_size)."""
    starts: Tensor | None
    """Of shape (time, batch)."""
    start_states: Tensor | None
    """Of shape (time, num_pools, batch, hidden_size)."""
    lengths: Tensor | None
    """Steps of each sequence, of shape (batch,)."""
    packed: PackedSequence | None
    """The input, if it was packed."""
    batched: bool
    """Whether the input had an axis for the batch."""


def check_unsupported(**options: object) -> None:
    """Refuse options of `nn.GRU` and `nn.LSTM` that pools do not have."""
    right = {"bias": True, "dropout": 0.0, "bidirectional": False, "proj_size": 0}
    for name, value in options.items():
        if value != right[name]:
            raise ValueError(
                f"{name} is {value!r}: it must be {right[name]!r}, since pools have no such option"
            )


def prepare_call(
    module: HasPools,
    input: Tensor | PackedSequence,
    hx: HiddenState | None,
    starts: Tensor | None,
    start_states: HiddenState | None,
    block_every: int | None,
) -> Call:
    """Check the arguments of a module's `forward` and bring them into one layout."""
    if block_every is not None:
        _checks.positive_int("block_every", block_every)
    if start_states is not None and starts is None:
        raise ValueError("start_states is given without starts: it must come with starts")
    if isinstance(input, PackedSequence):
        return _prepare_packed(module, input, hx, starts)
    owner = type(module).__name__
    if not isinstance(input, Tensor):
        raise TypeError(f"{owner}: input is {input!r}: it must be a tensor or a PackedSequence")
    axes = "(batch, time, input_size)" if module.batch_first else "(time, batch, input_size)"
    if input.ndim not in (2, 3) or input.shape[-1] != module.input_size:
        raise ValueError(
            f"{owner}: input has shape {tuple(input.shape)}: it must be {axes} or "
            f"(time, input_size), with input_size {module.input_size}"
        )
    x = cast_input(module, input)
    batched = x.ndim == 3
    leading = tuple(x.shape[:-1])
    batch = leading[0 if module.batch_first else 1] if batched else None
    state = prepare_state(module, hx, batch, x)
    if starts is not None:
        check_tensor(module, "starts", starts, leading, torch.bool, x.device)
    if start_states is not None:
        start_states = join_state(module, "start_states", start_states, leading, x)
    if not batched:
        x = x.unsqueeze(1)
        starts = None if starts is None else starts.unsqueeze(1)
        start_states = None if start_states is None else start_states.unsqueeze(1)
    elif module.batch_first:
        x = x.transpose(0, 1)
        starts = None if starts is None else starts.transpose(0, 1)
        start_states = None if start_states is None else start_states.transpose(0, 1)
    # From one state per step and sequence to one per step, as `state` has it.
    begins = None if start_states is None else start_states.transpose(1, 2)
    return Call(x, state, starts, begins, None, None, batched)


def _prepare_packed(
    module: HasPools, input: PackedSequence, hx: HiddenState | None, starts: Tensor | None
) -> Call:
    owner = type(module).__name__
    if starts is not None:
        raise ValueError(
            f"{owner}: starts is given with a PackedSequence: it must be None, since each packed "
            f"sequence starts once"
        )
    if input.data.ndim != 2 or input.data.shape[-1] != module.input_size:
        raise ValueError(
            f"{owner}: the data of the PackedSequence has shape {tuple(input.data.shape)}: it must "
            f"be (steps, input_size), with input_size {module.input_size}"
        )
    # In the order in which they are packed, longest first.
    x, lengths = pad_packed_sequence(PackedSequence(input.data, input.batch_sizes))
    x = cast_input(module, x)
    state = prepare_state(module, hx, x.shape[1], x)
    if input.sorted_indices is not None:
        state = state.index_select(1, input.sorted_indices)
    return Call(x, state, None, None, lengths.to(x.device), input, True)


def finish_call(
    module: HasPools, call: Call, output: Tensor, state: Tensor
) -> tuple[Any, HiddenState]:
    """Give results back in the layout of the input.

    **Arguments:**

    - `call`: from `prepare_call`.
    - `output`: of shape `(time, batch, ...)`.
    - `state`: of shape `(num_pools, batch, hidden_size)`.

    **Returns:**

    The outputs and the state as the caller of `forward` expects them.
    """
    if call.packed is not None:
        assert call.lengths is not None
        data = pack_padded_sequence(output, call.lengths.cpu()).data
        _, sizes, indices, back = call.packed
        if back is not None:
            state = state.index_select(1, back)
        return PackedSequence(data, sizes, indices, back), split_state(module, state)
    if not call.batched:
        return output.squeeze(1), split_state(module, state.squeeze(1))
    if module.batch_first:
        output = output.transpose(0, 1)
    return output, split_state(module, state)


def check_precision(dtype: torch.dtype) -> None:
    """ValueError for pools in 16 bits. Under autocast they stay in the precision of the module."""
    if dtype not in (torch.float32, torch.float64):
        _checks.pool_dtype(str(dtype).removeprefix("torch."))


def cast_input(module: HasPools, input: Tensor) -> Tensor:
    """`input`, cast if it holds integers or bools; an error if it is of another dtype or device."""
    like = module.like(input)
    check_precision(like.dtype)
    owner = type(module).__name__
    if input.device != like.device:
        raise ValueError(f"{owner}: input is on {input.device}: it must be on {like.device}")
    if not (input.is_floating_point() or input.is_complex()):
        return input.to(like.dtype)
    mixed = torch.is_autocast_enabled(input.device.type) and input.is_floating_point()
    if input.dtype != like.dtype and not mixed:
        raise TypeError(f"{owner}: input has dtype {input.dtype}: it must be {like.dtype}")
    return input


def prepare_state(module: HasPools, hx: HiddenState | None, batch: int | None, x: Tensor) -> Tensor:
    """The pools before the first step, of shape `(num_pools, batch, hidden_size)`.

    **Arguments:**

    - `hx`: what the caller gave. None: empty pools.
    - `batch`: the number of sequences. None: the input has no axis for them.
    - `x`: the input, whose device the state must share.
    """
    like = module.like(x)
    if hx is None:
        shape = (module.num_pools, 1 if batch is None else batch, module.hidden_size)
        return torch.zeros(shape, dtype=like.dtype, device=like.device)
    layers = len(state_layers(module))
    shapes = [
        (count, *(() if batch is None else (batch,)), module.hidden_size)
        for count in state_layers(module)
    ]
    parts = (hx,) if isinstance(hx, Tensor) else hx
    if not isinstance(parts, tuple | list) or len(parts) != layers:
        right = "a tensor" if layers == 1 else "a pair (h, c) of tensors"
        raise TypeError(
            f"{type(module).__name__}: hx is a {type(hx).__name__}: with state={module.state!r} it "
            f"must be {right} of shape {shapes[0]}"
        )
    for part, shape in zip(parts, shapes, strict=True):
        check_tensor(module, "hx", part, shape, like.dtype, like.device)
    state = parts[0] if layers == 1 else torch.cat(list(parts))
    return state.unsqueeze(1) if batch is None else state


def join_state(
    module: HasPools, name: str, given: HiddenState, leading: tuple[int, ...], x: Tensor
) -> Tensor:
    """States of shape `(*leading, num_pools, hidden_size)`, from one tensor or a pair."""
    like = module.like(x)
    counts = state_layers(module)
    parts = (given,) if isinstance(given, Tensor) else given
    if len(parts) != len(counts):
        raise TypeError(
            f"{type(module).__name__}: {name} has {len(parts)} tensors: with "
            f"state={module.state!r} it must have {len(counts)}"
        )
    for part, count in zip(parts, counts, strict=True):
        shape = (*leading, count, module.hidden_size)
        check_tensor(module, name, part, shape, like.dtype, like.device)
    return torch.cat(list(parts), dim=-2)


def split_state(module: HasPools, state: Tensor) -> HiddenState:
    """The state as callers have it: one tensor, or (h, c)."""
    if module.state == "gru":
        return state
    half = module.num_pools // 2
    return state[:half], state[half:]


def state_layers(module: HasPools) -> tuple[int, ...]:
    """The number of pools in each tensor of the state."""
    if module.state == "gru":
        return (module.num_pools,)
    return (module.num_pools // 2,) * 2


def check_tensor(
    module: HasPools,
    name: str,
    value: object,
    shape: tuple[int, ...],
    dtype: torch.dtype,
    device: torch.device,
) -> None:
    """`value` must be a tensor of this shape and dtype on this device."""
    where = f"{type(module).__name__}: {name}"
    if not isinstance(value, Tensor):
        raise TypeError(f"{where} is {value!r}: it must be a tensor of shape {shape}")
    if tuple(value.shape) != shape:
        raise ValueError(f"{where} has shape {tuple(value.shape)}: it must be {shape}")
    if value.dtype != dtype:
        raise TypeError(f"{where} has dtype {value.dtype}: it must be {dtype}")
    if value.device != device:
        raise ValueError(f"{where} is on {value.device}: it must be on {device}")
