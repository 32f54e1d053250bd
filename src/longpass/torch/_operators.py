"""Functions of ours as operators of PyTorch: differentiable, compiled around, mapped and cast."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def make_operator(
    name: str,
    function: Callable[..., Any],
    shape: Callable[..., Any],
    keep: Callable[..., None],
    pull: Callable[..., tuple],
) -> Callable[..., Any]:
    """Make an operator.

    **Arguments:**

    - `name`: its name in `torch.ops.longpass`.
    - `function`: what it computes, on plain tensors.
    - `shape`: `shape(*inputs)` gives empty tensors like its outputs, for the compiler.
    - `keep`: `keep(ctx, inputs, output)` keeps what the derivative needs.
    - `pull`: `pull(ctx, *grads)` is the derivative: gradients in the inputs.

    **Returns:**

    `function`, differentiable, for eager use, `torch.compile`, `torch.func` and autocast, under
    which it stays in float32.
    """
    operator: Any = torch.library.custom_op(f"longpass::{name}", function, mutates_args=())
    operator.register_fake(shape)
    operator.register_autograd(pull, setup_context=keep)
    operator.register_vmap(_make_rule(operator))
    for device in ("cpu", "cuda"):
        operator.register_autocast(device, torch.float32)

    def run(ctx: Any, *args: Any) -> Any:
        output = function(*args)
        keep(ctx, args, output)
        return output

    # The same derivative in the forms that eager use and torch.func take. An operator would do for
    # eager use too, but it takes a tenth of a millisecond more.
    plain = _make_function(forward=run, backward=pull)
    mapped = _make_function(
        forward=lambda *args: operator(*args), setup_context=keep, backward=pull
    )
    mapped.generate_vmap_rule = True

    def call(*args: Any) -> Any:
        if torch.compiler.is_compiling():
            return operator(*args)
        if torch._C._are_functorch_transforms_active():
            return mapped.apply(*args)
        if torch.is_autocast_enabled(args[0].device.type):
            return operator(*args)
        return plain.apply(*args)

    return call


def _make_function(**members: Callable[..., Any]) -> Any:
    """A `torch.autograd.Function` from its methods."""
    static = {name: staticmethod(member) for name, member in members.items()}
    return type("Operator", (torch.autograd.Function,), static)


def _make_rule(operator: Any) -> Callable[..., tuple]:
    """The rule for `torch.vmap`: one call per element."""

    def call_each(info: Any, in_dims: tuple, *args: Any) -> tuple:
        def take(place: int) -> list:
            return [
                arg.select(dim, place) if isinstance(arg, Tensor) and dim is not None else arg
                for arg, dim in zip(args, in_dims, strict=True)
            ]

        results = [operator(*take(place)) for place in range(info.batch_size)]
        if isinstance(results[0], Tensor):
            return torch.stack(results), 0
        return tuple(map(torch.stack, zip(*results, strict=True))), (0,) * len(results[0])

    return call_each
