"""Making memories by name: a convenience for settings and the command line."""

import inspect
from typing import Any, TypedDict, Unpack

from jaxtyping import PRNGKeyArray

from longpass._options import NO_OPTIONS, Options
from longpass.memory import (
    DType,
    MemoryLike,
    MemoryName,
    Normalise,
    check_options,
    find_memory,
    make_foreign,
)


class PoolOptions(TypedDict, total=False):
    """Arguments of `Concrete` and `Parallel` that functions of this package pass on."""

    num_pools: int
    base: float
    viewport_size: int
    gradient_pools: int
    read_input: bool
    normalise: Normalise | None


class GateOptions(TypedDict, total=False):
    """Arguments of `LSTM` and `GRU`, likewise."""

    forget_bias: float
    longest_time: int | None


class MemoryOptions(PoolOptions, GateOptions, total=False):
    """All of them. Each memory takes only its own."""


class SizedMemoryOptions(MemoryOptions, total=False):
    """The same with the size of pools, which networks treat apart."""

    pool_size: int


def make_memory(
    name: MemoryName,
    input_size: int,
    output_size: int = 128,
    *,
    dtype: DType = None,
    key: PRNGKeyArray,
    memory_options: Options = NO_OPTIONS,
    **options: Unpack[SizedMemoryOptions],
) -> MemoryLike:
    """Make a memory by its name.

    **Arguments:**

    - `name`: `"chain"` (`Concrete`), `"parallel"` (`Parallel`), `"lstm"`, `"gru"`, `"lru"` or
      `"mingru"`; or `package.module:factory` or `memax:NAME` (see `make_foreign`).
    - `input_size`: width of the input.
    - `output_size`: width of the output, which is the `hidden_size` of LSTM and GRU. A factory of
      another package does not get it.
    - `dtype`: of parameters, inputs and state. None: JAX's default, float32.
    - `key`: for the initial weights.
    - `memory_options`: further arguments of the class or factory, by name.
    - `options`: further arguments of `Concrete` and `Parallel`, or of `LSTM` and `GRU`. Other
      memories have none.

    **Returns:**

    The memory, with outputs of shape `(output_size,)`.

    >>> import jax
    >>> make_memory("lstm", 3, 8, key=jax.random.key(0)).output_shape
    (8,)
    """
    memory = find_memory(name)
    for option, value in options.items():
        of_gates = option in GateOptions.__annotations__
        if not (memory.has_gates if of_gates else memory.has_pools):
            parts = "gates" if of_gates else "pools"
            raise ValueError(
                f"{option} is {value!r}: it must not be given for {name}, which has no {parts}"
            )
    if memory.is_foreign:
        more = memory_options.values_by_name
        return make_foreign(name, input_size, dtype=dtype, key=key, options=more)
    make: Any = memory.load()
    given: dict[str, Any] = dict(options)
    more = memory_options.values_by_name
    fixed = {"hidden_size", "output_size", "dtype"}
    parameters = inspect.signature(make).parameters
    check_options(name, {one: parameters[one] for one in parameters if one not in fixed}, more)
    for option in more.keys() & given.keys():
        raise ValueError(
            f"memory_options has {option}={more[option]!r}: it must be left out, because "
            f"{option} is a setting of its own"
        )
    return make(input_size, output_size, dtype=dtype, key=key, **given, **more)
