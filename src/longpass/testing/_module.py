"""Checks for PyTorch: of modules with the interface of nn.GRU, and of functions of one step."""

import functools
import inspect
from typing import Any

import torch
from torch import Tensor, nn

from longpass import _checks
from longpass.testing._module_laws import MODULE_LAWS
from longpass.testing._module_runs import (
    Call,
    State,
    Step,
    Subject,
    list_tensors,
    loop_steps,
    map_state,
)
from longpass.testing._report import Report, run_laws


def check_module(
    module: nn.Module,
    *,
    cell: Step | None = None,
    input_size: int | None = None,
    length: int = 60,
    seed: int = 0,
    stop: bool = False,
) -> Report:
    """Check a module with the interface of nn.GRU against the contract.

    It is called as `output, state = module(x, state)`, where the state is a tensor or a tuple, as
    those of nn.GRU and nn.LSTM are. If its `forward` takes `starts`, of shape `(time, batch)`, or
    `block_every`, the laws about them are checked; else they do not apply.

    **Arguments:**

    - `module`: the module. `module.batch_first` is obeyed.
    - `cell`: `y, state = cell(x, state, start)` with the same weights, for the law that steps are
      a sequence. None: the module itself, called with one step.
    - `input_size`: width of the input. None: `module.input_size`.
    - `length`: steps of the longest sequences.
    - `seed`: of inputs and weights.
    - `stop`: whether to stop at the first law that fails.

    **Returns:** a report, see `check_memory`.

    >>> check_module(torch.nn.GRU(3, 4)).passed
    True
    """
    names = inspect.signature(module.forward).parameters
    size = getattr(module, "input_size", None) if input_size is None else input_size
    time_first = not getattr(module, "batch_first", False)
    takes_starts, takes_blocks = "starts" in names, "block_every" in names

    def turn(tensor: Tensor) -> Tensor:
        return tensor if time_first else tensor.transpose(0, 1)

    def run(x: Tensor, state: State, starts: Tensor | None = None, block_every: int | None = None):
        more: dict[str, Any] = {}
        if starts is not None:
            more["starts"] = turn(starts)
        if block_every is not None:
            more["block_every"] = block_every
        y, state = module(turn(x), state, **more)
        return turn(y), state

    weights = [one for one in module.parameters() if one.requires_grad]
    dtype = weights[0].dtype if weights else torch.get_default_dtype()

    def initial_state(batch: int) -> State:
        # A module that was called without a state tells what its states look like.
        x = torch.zeros(1, batch, _checks.positive_int("input_size", size), dtype=dtype)
        return map_state(torch.zeros_like, run(x, None)[1])

    call = Call(
        run,
        _checks.positive_int("input_size", size),
        dtype,
        weights,
        takes_starts,
        takes_blocks,
        initial_state,
        1,
    )
    return _check(type(module).__name__, call, cell, length, seed, stop)


def check_step(
    step: Step,
    input_size: int,
    initial_state: State,
    *,
    batch_axis: int = 0,
    length: int = 60,
    seed: int = 0,
    stop: bool = False,
) -> Report:
    """Check a function of one step against the contract.

    **Arguments:**

    - `step`: `y, state = step(x, state, start)` with `x` of shape `(batch, input_size)` and `start`
      of shape `(batch,)`, bool. If it is a module, gradients in its weights are checked too.
    - `input_size`: width of the input.
    - `initial_state`: of a batch of one row: a tensor, or a tuple of tensors.
    - `batch_axis`: of the tensors of the state.
    - `length`, `seed`, `stop`: as for `check_module`.

    **Returns:** a report, see `check_memory`.
    """

    def run(x: Tensor, state: State, starts: Tensor | None = None, block_every: int | None = None):
        where = torch.zeros(x.shape[:2], dtype=torch.bool) if starts is None else starts
        if state is None:
            state = first(x.shape[1])
        return loop_steps(step, x, state, where)

    def first(batch: int) -> State:
        return map_state(lambda one: one.repeat_interleave(batch, batch_axis), initial_state)

    weights = [one for one in getattr(step, "parameters", list)() if one.requires_grad]
    dtype = list_tensors(initial_state)[0].dtype
    size = _checks.positive_int("input_size", input_size)
    call = Call(run, size, dtype, weights, True, False, first, batch_axis)
    name = getattr(step, "__name__", type(step).__name__)
    return _check(name, call, None, length, seed, stop)


def _check(name: str, call: Call, cell: Step | None, length: int, seed: int, stop: bool) -> Report:
    subject = Subject(call, cell, seed)
    laws = ((law, functools.partial(check, subject)) for law, check in MODULE_LAWS.items())
    return run_laws(name, laws, _checks.int_within("length", length, 2, None), stop)
