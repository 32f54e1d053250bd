"""What every operator of ours needs so that `torch.vmap` and autocast can handle it."""

from typing import Any

import torch
from torch import Tensor


def finish_operator(operator: Any) -> None:
    """Let `torch.vmap` call an operator once per element, and autocast leave it in float32."""
    operator.register_vmap(_make_rule(operator))
    for device in ("cpu", "cuda"):
        operator.register_autocast(device, torch.float32)


def _make_rule(operator: Any) -> Any:
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
