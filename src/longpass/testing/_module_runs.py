"""Running a module of PyTorch for the laws: in one call, and in pieces."""

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from longpass.testing._report import DoesNotApply

ROWS = 3
State = Any
"""A tensor, or a tuple of tensors."""
Step = Callable[[Tensor, State, Tensor], tuple[Tensor, State]]


class Run(NamedTuple):
    """What a call gave, as NumPy arrays; time and batch are the first axes of outputs."""

    outputs: np.ndarray
    state: list[np.ndarray]
    input_gradients: np.ndarray
    other_gradients: list[np.ndarray]
    """In the first state, then in the weights."""


class Call(NamedTuple):
    """How a subject is called."""

    run: Callable[..., tuple[Tensor, State]]
    """(x, state, starts, block_every) to (outputs, state); time first."""
    input_size: int
    dtype: torch.dtype
    weights: Sequence[Tensor]
    takes_starts: bool
    takes_blocks: bool
    initial_state: Callable[[int], State]
    batch_axis: int
    """Of states."""


class Subject:
    """What is checked, and the arguments of its calls."""

    def __init__(self, call: Call, cell: Step | None, seed: int):
        self.call, self.cell, self._seed = call, cell, seed
        single = call.dtype in (torch.float32, torch.bfloat16, torch.float16)
        self.tolerance = 3e-4 if single else 1e-8

    def draw(self, what: str, *shape: int) -> Tensor:
        rng = np.random.default_rng([self._seed, *what.encode()])
        return torch.from_numpy(rng.standard_normal(shape)).to(self.call.dtype)

    def inputs(self, length: int) -> Tensor:
        return self.draw("inputs", length, ROWS, self.call.input_size)

    def used_state(self) -> State:
        x = self.draw("used", 5, ROWS, self.call.input_size)
        return map_state(lambda one: one.detach(), self.call.run(x, None)[1])

    def differentiate(self, form: Callable[..., Any], length: int, weigh_from: int = 0) -> Run:
        """What `form(x, state)` gives, and the gradients of a weighted sum of it."""
        x = self.inputs(length).requires_grad_()
        state = map_state(lambda one: one.clone().requires_grad_(), self.used_state())
        y, last = form(x, state)
        weights = self.draw("weights", *y.shape)
        weights[:weigh_from] = 0.0
        total = (weights * y).sum()
        for place, one in enumerate(list_tensors(last) if weigh_from == 0 else []):
            total = total + (self.draw(f"state {place}", *one.shape) * one).sum()
        wanted = [x, *list_tensors(state), *self.call.weights]
        grads = torch.autograd.grad(total, wanted, allow_unused=True, materialize_grads=True)
        first, *others = [to_numpy(grad) for grad in grads]
        return Run(to_numpy(y), [to_numpy(one) for one in list_tensors(last)], first, others)

    def whole(
        self,
        length: int,
        starts: np.ndarray | None = None,
        block_every: int | None = None,
        weigh_from: int = 0,
    ) -> Run:
        """One call."""
        given = None if starts is None else _starts(starts)
        form = functools.partial(self.call.run, starts=given, block_every=block_every)
        return self.differentiate(form, length, weigh_from)

    def in_pieces(
        self,
        length: int,
        borders: list[int],
        *,
        clear: bool = False,
        block: bool = False,
        starts: np.ndarray | None = None,
    ) -> Run:
        """Several calls, one after the other, cut at `borders`.

        **Arguments:**

        - `clear`: begin each piece after the first with the initial state.
        - `block`: stop gradients through the state between pieces.
        """

        def form(x: Tensor, state: State):
            ys = []
            edges = [0, *borders, length]
            for place, (begin, end) in enumerate(itertools.pairwise(edges)):
                if place and clear:
                    state = self.call.initial_state(ROWS)
                if place and block:
                    state = map_state(lambda one: one.detach(), state)
                given = None if starts is None else _starts(starts[begin:end])
                y, state = self.call.run(x[begin:end], state, given)
                ys.append(y)
            return torch.cat(ys), state

        return self.differentiate(form, length)

    def need_starts(self) -> None:
        if not self.call.takes_starts:
            raise DoesNotApply("forward takes no starts: callers must clear the state themselves")

    def need_blocks(self) -> None:
        if not self.call.takes_blocks:
            raise DoesNotApply("it takes no block_every: callers must cut gradients themselves")


def loop_steps(step: Step, x: Tensor, state: State, starts: Tensor) -> tuple[Tensor, State]:
    ys = []
    for one, start in zip(x, starts, strict=True):
        y, state = step(one, state, start)
        ys.append(y)
    return torch.stack(ys), state


def map_state(change: Callable[[Tensor], Tensor], state: State) -> State:
    return tuple(map(change, state)) if isinstance(state, tuple) else change(state)


def list_tensors(state: State) -> list[Tensor]:
    return list(state) if isinstance(state, tuple) else [state]


def _starts(starts: np.ndarray) -> Tensor:
    """The same starts in every row."""
    return torch.from_numpy(starts)[:, None].expand(-1, ROWS).contiguous()


def to_numpy(tensor: Tensor) -> np.ndarray:
    return tensor.detach().cpu().numpy()
