"""What an operator of ours needs so that PyTorch can differentiate, map and cast it."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def make_differentiable(
    operator: Any, keep: Callable[..., None], pull: Callable[..., tuple]
) -> Callable[..., Any]:
    """Give an operator a derivative, a rule for `torch.vmap`, and float32 under autocast.

    **Arguments:**

    - `operator`: from `torch.library.custom_op`.
    - `keep`: `keep(ctx, inputs, output)` keeps what the derivative needs.
    - `pull`: `pull(ctx, *grads)` is the derivative: gradients in the inputs.

    **Returns:**

    The operator as a function, for `torch.func` too.
    """
    operator.register_autograd(pull, setup_context=keep)
    operator.register_vmap(_make_rule(operator))
    for device in ("cpu", "cuda"):
        operator.register_autocast(device, torch.float32)
    members = {
        "generate_vmap_rule": True,
        "forward": staticmethod(lambda *args: operator(*args)),
        "setup_context": staticmethod(keep),
        "backward": staticmethod(pull),
    }
    function: Any = type("Differentiable", (torch.autograd.Function,), members)

    def call(*args: Any) -> Any:
        # The derivative of an operator is not seen by torch.func; that of a Function is, but each
        # call of it takes a tenth of a millisecond more.
        if torch._C._are_functorch_transforms_active():
            return function.apply(*args)
        return operator(*args)

    return call


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
