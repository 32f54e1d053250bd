"""Files with the weights of one memory, in safetensors: the same for JAX and PyTorch.

The names of the arrays are those of `longpass.memory.Concrete` (`write`, `reader.viewports`, ...);
an LSTM or GRU has the names of `torch.nn` (`weight_ih_l0`, ...). The metadata says which memory it
is, the arguments it was made with, and the version of longpass.
"""

import json
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import numpy as np

from longpass import _checks
from longpass._json import JsonObject, parse_json
from longpass._whole_files import write_atomically

KINDS = ("Concrete", "Parallel", "PoolChain", "PoolBank", "LSTM", "GRU")
DTYPES = ("float16", "float32", "float64")
# Activations that are the same function in both frameworks.
ACTIVATIONS = ("relu", "tanh", "sigmoid", "silu", "elu", "softplus")


class WeightFile(NamedTuple):
    """What a file holds."""

    kind: str
    """The name of the class."""
    arguments: JsonObject
    """The arguments of the class in `longpass.memory`, except `key`; `dtype` by its name."""
    arrays: dict[str, np.ndarray]
    """The weights by name."""
    version: str = version("longpass")
    """The version of longpass that wrote it."""


def write_weights(path: str | Path, file: WeightFile) -> None:
    """Write a file."""
    from safetensors.numpy import save

    _checks.one_of("dtype", file.arguments["dtype"], DTYPES)
    arrays = {name: np.ascontiguousarray(array) for name, array in file.arrays.items()}
    described = {"kind": file.kind, "arguments": file.arguments, "version": file.version}
    data = save(arrays, metadata={"longpass": json.dumps(described, sort_keys=True)})
    write_atomically(Path(path), lambda file: file.write(data))


def read_weights(path: str | Path) -> WeightFile:
    """Read a file. ValueError if it was not written by `write_weights`."""
    from safetensors import SafetensorError, safe_open

    if not Path(path).is_file():
        raise refuse_file(path, "there is no such file")
    try:
        # What its header declares is checked against its size, and nothing is unpickled.
        with safe_open(path, framework="numpy") as file:
            described = parse_json((file.metadata() or {}).get("longpass", "{}"))
            names = file.keys()
            arrays = {name: file.get_tensor(name) for name in names}
    except (SafetensorError, ValueError, TypeError, AttributeError) as error:
        raise refuse_file(path, str(error)) from None
    kind, arguments = described.get("kind"), described.get("arguments")
    if kind not in KINDS or not isinstance(arguments, dict):
        raise refuse_file(path, "it names no memory")
    if arguments.get("dtype") not in DTYPES:
        raise refuse_file(path, f"dtype is {arguments.get('dtype')!r}")
    return WeightFile(kind, arguments, arrays, str(described.get("version")))


def refuse_file(path: str | Path, reason: str) -> ValueError:
    """The error for a file that is not as `write_weights` wrote it."""
    return ValueError(f"path is {str(path)!r}: it must be a file that longpass saved ({reason})")


def check_shapes(
    path: str | Path, arrays: dict[str, np.ndarray], right: dict[str, tuple[int, ...]]
) -> None:
    """ValueError if a file does not have exactly the arrays that its arguments ask for.

    **Arguments:**

    - `path`: the file.
    - `arrays`: what it holds.
    - `right`: the shapes of the weights of a memory with its arguments, by name.
    """
    for name in sorted({*arrays, *right}):
        if name not in arrays or name not in right:
            raise refuse_file(path, f"{name} is {'missing' if name in right else 'unknown'}")
        if arrays[name].shape != right[name]:
            raise refuse_file(path, f"{name} has shape {arrays[name].shape}, not {right[name]}")


def choose_activation(path: str | Path, name: object) -> str:
    """The activation's name. ValueError if the file has none, since it was saved with another."""
    if name not in ACTIVATIONS:
        listed = ", ".join(ACTIVATIONS)
        raise ValueError(
            f"activation is None: {str(path)!r} was saved with an activation other than {listed}, "
            f"so it must be given"
        )
    return str(name)
