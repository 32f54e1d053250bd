"""The paper's classifiers of symbol sequences: memory, hidden layer, logits."""

from typing import Any, get_args

import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray

from longpass import _checks
from longpass._names import Family
from longpass.memory import GRU, LSTM, AbstractMemory, Concrete, Parallel


class Classifier(eqx.Module):
    """One-hot symbols in, class logits out, at every step.

    - chain: symbols are written straight into the pools; the summariser is the hidden layer.
    - parallel: the same behind a learned embedding as wide as a pool.
    - lstm, gru: symbols into the memory, a hidden layer on what it gives.

    **Arguments**, named as in the paper's table: `D` (size of a pool or of the LSTM), `M` (hidden
    layer), and for pools `k` (how many), `V` (viewport) and `b` (base). `pool_options` go to
    `Concrete` or `Parallel`.
    """

    symbols: int = eqx.field(static=True)
    embedding: eqx.nn.Linear | None
    memory: AbstractMemory
    hidden: eqx.nn.Linear | None
    logits: eqx.nn.Linear

    def __init__(
        self,
        family: Family,
        symbols: int,
        classes: int,
        *,
        D: int,
        M: int,
        k: int = 8,
        V: int = 10,
        b: float = 2.0,
        dtype: Any = None,
        key: PRNGKeyArray,
        **pool_options: Any,
    ):
        _checks.one_of("family", family, get_args(Family))
        embedding_key, memory_key, hidden_key, logits_key = jax.random.split(key, 4)
        pools = {"pool_size": D, "pools": k, "base": b, "viewport_size": V, "summary_size": M}
        pools |= {"dtype": dtype}
        self.symbols = symbols
        self.embedding = self.hidden = None
        match family:
            case "chain":
                self.memory = Concrete(symbols, **pools, **pool_options, key=memory_key)
            case "parallel":
                self.embedding = eqx.nn.Linear(symbols, D, dtype=dtype, key=embedding_key)
                self.memory = Parallel(D, **pools, **pool_options, key=memory_key)
            case "lstm" | "gru":
                cell = LSTM if family == "lstm" else GRU
                self.memory = cell(symbols, D, dtype=dtype, key=memory_key)
                self.hidden = eqx.nn.Linear(D, M, dtype=dtype, key=hidden_key)
        self.logits = eqx.nn.Linear(M, classes, dtype=dtype, key=logits_key)

    def embed(self, symbols: Float[Array, "*time symbols"]) -> Float[Array, "*time input"]:
        """What the memory is given of one-hot symbols."""
        if self.embedding is None:
            return symbols
        return _apply(self.embedding, symbols)

    def classify(self, ys: Float[Array, "*time output"]) -> Float[Array, "*time classes"]:
        """Logits from what the memory gave."""
        if self.hidden is not None:
            ys = jax.nn.relu(_apply(self.hidden, ys))
        return _apply(self.logits, ys)

    def unroll(
        self,
        state: Any,
        symbols: Float[Array, "time symbols"],
        starts=None,
        block_every: int | None = None,
    ) -> tuple[Any, Float[Array, "time classes"]]:
        """(State after the last symbol, logits at every step)."""
        state, ys = self.memory.unroll(state, self.embed(symbols), starts, block_every)
        return state, self.classify(ys)


def _apply(layer: eqx.nn.Linear, xs: Float[Array, "*time input"]) -> Float[Array, "*time output"]:
    """A layer at every step at once."""
    assert layer.bias is not None
    return xs @ layer.weight.T + layer.bias
