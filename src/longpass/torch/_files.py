"""Saving and loading a module, in files that `longpass.memory` reads and writes too."""

import functools
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from longpass._json import JsonObject
from longpass._weight_files import (
    WeightFile,
    check_shapes,
    choose_activation,
    read_weights,
    refuse_file,
    write_weights,
)
from longpass.torch._concrete import Concrete, Parallel
from longpass.torch._pooled import Pooled
from longpass.torch._pools import PoolBank, PoolChain, PoolModule
from longpass.torch._reader import Activation

ACTIVATIONS: dict[str, Activation] = {
    "relu": F.relu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "silu": F.silu,
    "elu": F.elu,
    "softplus": F.softplus,
}
_CLASSES = {
    "Concrete": Concrete,
    "Parallel": Parallel,
    "PoolChain": PoolChain,
    "PoolBank": PoolBank,
    "LSTM": nn.LSTM,
    "GRU": nn.GRU,
}
_OPTIONS = ("input_size", "output_size", "base", "viewport_size", "gradient_pools", "read_input")
_OPTIONS += ("normalise",)


def save(module: nn.Module, path: str | Path) -> None:
    """Save a module in safetensors; `load` and `longpass.memory.load` read it.

    **Arguments:**

    - `module`: a `Concrete`, `Parallel`, one of their cells, `PoolChain`, `PoolBank`, or an nn.LSTM
      or nn.GRU of one layer.
    - `path`: the file, which is replaced if it exists.
    """
    kind = type(module).__name__.removesuffix("Cell")
    arguments: JsonObject
    dtype = torch.float32
    if isinstance(module, Pooled):
        arguments = {name: getattr(module, name) for name in _OPTIONS}
        arguments |= {"num_pools": module.num_pools, "pool_size": module.hidden_size}
        names = {function: name for name, function in ACTIVATIONS.items()} | {torch.relu: "relu"}
        arguments["activation"] = names.get(module.activation)
        dtype = module.write.dtype
    elif isinstance(module, PoolModule):
        arguments = {"size": module.hidden_size, "rates": list(module.rates)}
    elif isinstance(module, nn.LSTM | nn.GRU):
        _check_gates(module)
        arguments = {"input_size": module.input_size, "hidden_size": module.hidden_size}
        dtype = module.weight_ih_l0.dtype
    else:
        raise TypeError(
            f"module is a {type(module).__name__}: it must be one of {', '.join(_CLASSES)}"
        )
    arguments["dtype"] = str(dtype).removeprefix("torch.")
    weights = {name: weight.detach().cpu() for name, weight in module.state_dict().items()}
    if dtype == torch.bfloat16:
        raise ValueError("dtype is bfloat16: it must be float16, float32 or float64 in a file")
    write_weights(
        path, WeightFile(kind, arguments, {name: w.numpy() for name, w in weights.items()})
    )


def load(path: str | Path, *, activation: Activation | None = None, **options: Any) -> nn.Module:
    """Load a module that `save` or `longpass.memory.save` wrote.

    **Arguments:**

    - `path`: the file.
    - `activation`: of viewports and summariser. None: as saved; it must be given if the memory was
      saved with one that has no name in both frameworks.
    - `options`: arguments that are not part of the memory: `batch_first`, `device`, and `state`
      except for an LSTM or GRU.

    **Returns:**

    The module: one of `longpass.torch`, or an `nn.LSTM` or `nn.GRU` of one layer.
    """
    file = read_weights(path)
    arguments: dict[str, Any] = dict(file.arguments)
    dtype = getattr(torch, arguments.pop("dtype"))
    if file.kind in ("Concrete", "Parallel"):
        name = arguments.pop("activation")
        arguments["activation"] = activation or ACTIVATIONS[choose_activation(path, name)]
        arguments["hidden_size"] = arguments.pop("pool_size")
        arguments["num_layers"] = arguments.pop("num_pools")
    if not file.kind.startswith("Pool"):
        arguments["dtype"] = dtype
    make = functools.partial(_CLASSES[file.kind], **arguments)
    try:
        # Nothing is allocated: the arguments may ask for more than there is.
        with torch.device("meta"):
            weights = make().state_dict()
    except (TypeError, ValueError, RuntimeError) as error:
        raise refuse_file(path, str(error)) from None
    check_shapes(path, file.arrays, {name: tuple(w.shape) for name, w in weights.items()})
    module = make(**options)
    module.load_state_dict({name: torch.from_numpy(array) for name, array in file.arrays.items()})
    return module


def _check_gates(module: nn.LSTM | nn.GRU) -> None:
    """Only one layer, in one direction, with biases, has a counterpart in `longpass.memory`."""
    right = {"num_layers": 1, "bidirectional": False, "proj_size": 0, "bias": True}
    for name, value in right.items():
        if getattr(module, name) != value:
            raise ValueError(f"{name} is {getattr(module, name)!r}: it must be {value!r} in a file")
