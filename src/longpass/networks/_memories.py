"""Memories by name: a convenience for settings and the command line."""

from typing import TypedDict, Unpack, get_args

from jaxtyping import PRNGKeyArray

from longpass import _checks
from longpass.memory import GRU, LSTM, AbstractMemory, Concrete, DType, Normalise, Parallel
from longpass.networks._names import MemoryName


class PoolOptions(TypedDict, total=False):
    """Arguments of `Concrete` and `Parallel` that functions of this package pass on."""

    num_pools: int
    base: float
    viewport_size: int
    gradient_pools: int
    read_input: bool
    normalise: Normalise | None


class MemoryOptions(PoolOptions, total=False):
    """The same with the size of pools, which networks treat apart."""

    pool_size: int


_POOLED = {"chain": Concrete, "parallel": Parallel}
_GATED = {"lstm": LSTM, "gru": GRU}


def make_memory(
    name: MemoryName,
    input_size: int,
    output_size: int = 128,
    *,
    dtype: DType = None,
    key: PRNGKeyArray,
    **pool_options: Unpack[MemoryOptions],
) -> AbstractMemory:
    """Make a memory by its name.

    **Arguments:**

    - `name`: `"chain"` (`Concrete`), `"parallel"` (`Parallel`), `"lstm"` or `"gru"`.
    - `input_size`: width of the input.
    - `output_size`: width of the output; for LSTM and GRU this is `hidden_size`.
    - `dtype`: of parameters, inputs and state. None: JAX's default, float32.
    - `key`: for the initial weights.
    - `pool_options`: further arguments of `Concrete` or `Parallel`. LSTM and GRU have none.

    **Returns:**

    The memory, with outputs of shape `(output_size,)`.

    >>> import jax
    >>> make_memory("lstm", 3, 8, key=jax.random.key(0)).output_shape
    (8,)
    """
    _checks.one_of("memory", name, get_args(MemoryName))
    if name in _POOLED:
        return _POOLED[name](input_size, output_size, dtype=dtype, key=key, **pool_options)
    for option, value in pool_options.items():
        raise ValueError(
            f"{option} is {value!r}: it must not be given for {name}, which has no pools"
        )
    return _GATED[name](input_size, output_size, dtype=dtype, key=key)
