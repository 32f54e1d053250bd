"""The paper's classifiers of symbol sequences: memory, hidden layer, logits."""

from typing import Any, get_args

import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray

from longpass import _checks
from longpass.memory import GRU, LSTM, AbstractMemory, Concrete, Parallel
from longpass.networks._families import Family


class Classifier(eqx.Module):
    """One-hot symbols in, class logits out, at every step.

    - chain: symbols are written straight into the pools; the summariser is the hidden layer.
    - parallel: the same behind a learned embedding as wide as a pool.
    - lstm, gru: symbols into the memory, a hidden layer on what it gives.

    **Arguments**, named as in the paper's table: `D` (size of a pool or of the LSTM), `M` (hidden
    layer), and for pools `k` (how many), `V` (viewport) and `b` (base). `pool_options` go to
    `Concrete` or `Parallel`.
    """

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
        key: PRNGKeyArray,
        **pool_options: Any,
    ):
        _checks.one_of("family", family, get_args(Family))
        embedding_key, memory_key, hidden_key, logits_key = jax.random.split(key, 4)
        pools = {"pool_size": D, "pools": k, "base": b, "viewport_size": V, "summary_size": M}
        self.embedding = self.hidden = None
        match family:
            case "chain":
                self.memory = Concrete(symbols, **pools, **pool_options, key=memory_key)
            case "parallel":
                self.embedding = eqx.nn.Linear(symbols, D, key=embedding_key)
                self.memory = Parallel(D, **pools, **pool_options, key=memory_key)
            case "lstm" | "gru":
                cell = LSTM if family == "lstm" else GRU
                self.memory = cell(symbols, D, key=memory_key)
                self.hidden = eqx.nn.Linear(D, M, key=hidden_key)
        self.logits = eqx.nn.Linear(M, classes, key=logits_key)

    def unroll(
        self,
        state: Any,
        symbols: Float[Array, "time symbols"],
        starts=None,
        block_every: int | None = None,
    ) -> tuple[Any, Float[Array, "time classes"]]:
        """(State after the last symbol, logits at every step)."""
        xs = symbols if self.embedding is None else jax.vmap(self.embedding)(symbols)
        state, ys = self.memory.unroll(state, xs, starts, block_every)
        if self.hidden is not None:
            ys = jax.nn.relu(jax.vmap(self.hidden)(ys))
        return state, jax.vmap(self.logits)(ys)
