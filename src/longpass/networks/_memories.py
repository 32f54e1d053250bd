"""Making memories by name: a convenience for settings and the command line."""

from typing import TypedDict, Unpack

from jaxtyping import PRNGKeyArray

from longpass.memory import AbstractMemory, DType, MemoryName, Normalise, find_memory


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
    - `output_size`: width of the output, which is the `hidden_size` of LSTM and GRU.
    - `dtype`: of parameters, inputs and state. None: JAX's default, float32.
    - `key`: for the initial weights.
    - `pool_options`: further arguments of `Concrete` or `Parallel`. Other memories have none.

    **Returns:**

    The memory, with outputs of shape `(output_size,)`.

    >>> import jax
    >>> make_memory("lstm", 3, 8, key=jax.random.key(0)).output_shape
    (8,)
    """
    memory = find_memory(name)
    if not memory.has_pools:
        for option, value in pool_options.items():
            raise ValueError(
                f"{option} is {value!r}: it must not be given for {name}, which has no pools"
            )
    return memory.load()(input_size, output_size, dtype=dtype, key=key, **pool_options)
