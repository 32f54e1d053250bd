"""The paper's classifiers of symbol sequences: memory, hidden layer, logits.

Section 5.1 of the paper and appendix D (schematics).
"""

from typing import Unpack

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from longpass import _checks
from longpass._options import NO_OPTIONS, Options
from longpass.memory import DType, MemoryLike, MemoryName, State, has_pools
from longpass.networks._memories import PoolOptions, SizedMemoryOptions, make_memory


class Classifier(eqx.Module):
    """One-hot symbols in, class logits out, at every step, around any memory.

    >>> from longpass.memory import GRU
    >>> memory_key, key = jax.random.split(jax.random.key(0))
    >>> network = Classifier(GRU(5, 8, key=memory_key), 3, key=key)
    >>> symbols = jax.nn.one_hot(jax.numpy.arange(5), 5)
    >>> _, logits = network.unroll(network.memory.initial_state(), symbols)
    >>> logits.shape
    (5, 3)
    """

    embedding: eqx.nn.Linear | None
    memory: MemoryLike
    hidden: eqx.nn.Linear | None
    logits: eqx.nn.Linear

    def __init__(
        self,
        memory: MemoryLike,
        num_classes: int,
        *,
        embedding: eqx.nn.Linear | None = None,
        hidden_size: int | None = None,
        key: PRNGKeyArray,
    ):
        """**Arguments:**

        - `memory`: any memory with outputs of shape `(width,)`.
        - `num_classes`: number of classes.
        - `embedding`: a layer from one-hot symbols to the memory's input. None: the memory reads
          one-hot symbols.
        - `hidden_size`: units of a ReLU layer between memory and logits. None: no such layer.
        - `key`: for the initial weights.
        """
        if embedding is not None and embedding.out_features != memory.input_size:
            raise ValueError(
                f"embedding has {embedding.out_features} units: it must have "
                f"{memory.input_size}, as many as the memory has inputs"
            )
        # The first two keys belong to the embedding and the memory, see `make_classifier`.
        _, _, hidden_key, logits_key = jax.random.split(key, 4)
        (width,) = memory.output_shape
        dtype = memory.dtype
        self.embedding = embedding
        self.memory = memory
        self.hidden = None
        if hidden_size is not None:
            hidden_size = _checks.positive_int("hidden_size", hidden_size)
            self.hidden = eqx.nn.Linear(width, hidden_size, dtype=dtype, key=hidden_key)
            width = hidden_size
        num_classes = _checks.positive_int("num_classes", num_classes)
        self.logits = eqx.nn.Linear(width, num_classes, dtype=dtype, key=logits_key)

    @property
    def num_symbols(self) -> int:
        """The number of different symbols."""
        if self.embedding is None:
            return self.memory.input_size
        return int(self.embedding.in_features)

    def embed(self, symbols: Float[Array, "*time symbols"]) -> Float[Array, "*time input"]:
        """The memory's input for one-hot symbols."""
        if self.embedding is None:
            return symbols
        return _apply(self.embedding, symbols)

    def classify(self, ys: Float[Array, "*time output"]) -> Float[Array, "*time classes"]:
        """Logits from outputs of the memory."""
        if self.hidden is not None:
            ys = jax.nn.relu(_apply(self.hidden, ys))
        return _apply(self.logits, ys)

    def unroll(
        self,
        state: State,
        symbols: Float[Array, "time symbols"],
        starts=None,
        block_every: int | None = None,
    ) -> tuple[State, Float[Array, "time classes"]]:
        """Read one-hot symbols.

        **Arguments:**

        - `state`: of the memory, from its `initial_state` or an earlier call.
        - `symbols`: of shape `(time, num_symbols)`.
        - `starts`, `block_every`: as for `AbstractMemory.unroll`.

        **Returns:**

        The state after the last symbol, and logits of shape `(time, num_classes)`.
        """
        state, ys = self.memory.unroll(state, self.embed(symbols), starts, block_every)
        return state, self.classify(ys)


def make_classifier(
    memory: MemoryName,
    num_symbols: int,
    num_classes: int,
    *,
    hidden_size: int = 128,
    pool_size: int = 64,
    memory_options: Options = NO_OPTIONS,
    dtype: DType = None,
    key: PRNGKeyArray,
    **pool_options: Unpack[PoolOptions],
) -> Classifier:
    """Make one of the paper's classifiers by the name of its memory.

    - chain: the memory reads symbols; its summariser is the hidden layer.
    - parallel: the same behind a learned embedding as wide as a pool, whose bias begins at 0.
    - lstm, gru and others: the memory reads symbols; a hidden layer reads the memory.

    **Arguments:**

    - `memory`: its name, such as `"chain"`, `"parallel"`, `"lstm"` or `"gru"`.
    - `num_symbols`: number of different symbols.
    - `num_classes`: number of classes.
    - `hidden_size`: units of the hidden layer (M in the paper's table).
    - `pool_size`: units of each pool; without pools, units of the memory (D).
    - `memory_options`: further arguments of the memory, see `make_memory`.
    - `dtype`: of parameters and state. None: JAX's default, float32.
    - `key`: for the initial weights.
    - `pool_options`: further arguments of `Concrete` or `Parallel`.

    **Returns:**

    The network with initial weights.
    """
    embedding_key, memory_key, _, _ = jax.random.split(key, 4)
    pooled = has_pools(memory)
    embedding, input_size, output_size = None, num_symbols, pool_size
    if memory == "parallel":
        embedding = eqx.nn.Linear(num_symbols, pool_size, dtype=dtype, key=embedding_key)
        # A bias fills all pools with the same contents at every step, however little it carries.
        embedding = eqx.tree_at(lambda layer: layer.bias, embedding, replace_fn=jnp.zeros_like)
        input_size = pool_size
    options: SizedMemoryOptions = {**pool_options}
    if pooled:
        output_size = hidden_size
        options["pool_size"] = pool_size
    core = make_memory(
        memory,
        input_size,
        output_size,
        dtype=dtype,
        key=memory_key,
        memory_options=memory_options,
        **options,
    )
    return Classifier(
        core, num_classes, embedding=embedding, hidden_size=None if pooled else hidden_size, key=key
    )


def _apply(layer: eqx.nn.Linear, xs: Float[Array, "*time input"]) -> Float[Array, "*time output"]:
    """A layer at every step at once."""
    assert layer.bias is not None
    return xs @ layer.weight.T + layer.bias
