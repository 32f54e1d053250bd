"""Saving and loading a memory, in files that `longpass.torch` reads and writes too."""

import functools
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from longpass._json import JsonObject
from longpass._weight_files import (
    WeightFile,
    check_shapes,
    choose_activation,
    read_weights,
    refuse_file,
    write_weights,
)
from longpass.memory._abstract import AbstractMemory
from longpass.memory._concrete import Concrete, Parallel, PooledMemory
from longpass.memory._gru import GRU
from longpass.memory._lstm import LSTM
from longpass.memory._pools import AbstractPools, PoolBank, PoolChain
from longpass.memory._reader import Activation

ACTIVATIONS: dict[str, Activation] = {
    "relu": jax.nn.relu,
    "tanh": jnp.tanh,
    "sigmoid": jax.nn.sigmoid,
    "silu": jax.nn.silu,
    "elu": jax.nn.elu,
    "softplus": jax.nn.softplus,
}
_CLASSES = {kind.__name__: kind for kind in (Concrete, Parallel, PoolChain, PoolBank, LSTM, GRU)}
_OPTIONS = ("input_size", "output_size", "num_pools", "pool_size", "base", "viewport_size")
_OPTIONS += ("gradient_pools", "read_input", "normalise")
_READER = ("input_viewport", "viewports", "viewport_bias", "summariser", "summary_bias")


def save(memory: AbstractMemory, path: str | Path) -> None:
    """Save a memory in safetensors; `load` and `longpass.torch.load` read it.

    **Arguments:**

    - `memory`: a `Concrete`, `Parallel`, `PoolChain` or `PoolBank` without link, `LSTM` or `GRU`.
    - `path`: the file, which is replaced if it exists.
    """
    kind = type(memory).__name__
    if _CLASSES.get(kind) is not type(memory):
        raise TypeError(f"memory is a {kind}: it must be one of {', '.join(_CLASSES)}")
    if isinstance(memory, PooledMemory | AbstractPools) and memory.link is not None:
        raise ValueError(f"link is {memory.link}: it must be None in a memory that is saved")
    arguments: JsonObject
    if isinstance(memory, PooledMemory):
        arguments = {name: getattr(memory, name) for name in _OPTIONS}
        names = {function: name for name, function in ACTIVATIONS.items()}
        arguments["activation"] = names.get(memory.activation)
    elif isinstance(memory, AbstractPools):
        arguments = {"size": memory.size, "rates": list(memory.rates)}
    else:
        assert isinstance(memory, LSTM | GRU)
        arguments = {"input_size": memory.input_size, "hidden_size": memory.hidden_size}
    arguments["dtype"] = np.dtype(memory.dtype).name
    arrays = {name: np.asarray(array) for name, array in _name_arrays(memory).items()}
    write_weights(path, WeightFile(kind, arguments, arrays))


def load(path: str | Path, *, activation: Activation | None = None) -> AbstractMemory:
    """Load a memory that `save` or `longpass.torch.save` wrote.

    **Arguments:**

    - `path`: the file.
    - `activation`: of viewports and summariser. None: as saved; it must be given if the memory was
      saved with one that has no name in both frameworks.

    **Returns:**

    The memory, of the class that was saved.
    """
    file = read_weights(path)
    options: dict[str, Any] = dict(file.arguments)
    if "activation" in options:
        name = options.pop("activation")
        options["activation"] = activation or ACTIVATIONS[choose_activation(path, name)]
    if not file.kind.startswith("Pool"):
        options["key"] = jax.random.key(0)
    if options["dtype"] == "float64" and not jax.config.read("jax_enable_x64"):
        raise ValueError(
            f"dtype is float64 in {str(path)!r}: to load it, jax_enable_x64 must be set"
        )
    make = functools.partial(_CLASSES[file.kind], **options)
    try:
        # Nothing is allocated: the arguments may ask for more than there is.
        shapes = eqx.filter_eval_shape(lambda: _name_arrays(make()))
    except (TypeError, ValueError) as error:
        raise refuse_file(path, str(error)) from None
    check_shapes(path, file.arrays, {name: array.shape for name, array in shapes.items()})
    return _replace_arrays(make(), file.arrays)


def _name_arrays(memory: AbstractMemory) -> dict[str, Any]:
    """The arrays of a memory under the names that they have in files."""
    if isinstance(memory, PooledMemory):
        read = {f"reader.{name}": getattr(memory.reader, name) for name in _READER}
        return {"write": memory.write} | {name: a for name, a in read.items() if a is not None}
    if isinstance(memory, LSTM | GRU):
        # PyTorch adds two biases. Only the candidate's is inside a product, and is its own.
        hidden = jnp.zeros_like(memory.bias)
        if isinstance(memory, GRU):
            hidden = hidden.at[2 * memory.hidden_size :].set(memory.candidate_bias)
        return {
            "weight_ih_l0": memory.input_weight,
            "weight_hh_l0": memory.recurrent_weight,
            "bias_ih_l0": memory.bias,
            "bias_hh_l0": hidden,
        }
    return {}


def _replace_arrays(memory: Any, arrays: dict[str, np.ndarray]) -> Any:
    """The memory with the arrays of a file."""
    given = {name: jnp.asarray(array) for name, array in arrays.items()}
    if isinstance(memory, PooledMemory):
        names = list(_name_arrays(memory))
        return eqx.tree_at(
            lambda memory: list(_name_arrays(memory).values()),
            memory,
            [given[name] for name in names],
        )
    if isinstance(memory, LSTM | GRU):
        hidden = given["bias_hh_l0"]
        weights = [given["weight_ih_l0"], given["weight_hh_l0"]]
        if isinstance(memory, LSTM):
            weights.append(given["bias_ih_l0"] + hidden)
        else:
            size = memory.hidden_size
            weights += [given["bias_ih_l0"].at[: 2 * size].add(hidden[: 2 * size])]
            weights.append(hidden[2 * size :])
        return eqx.tree_at(jax.tree.leaves, memory, weights)
    return memory
