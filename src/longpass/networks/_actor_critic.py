"""The paper's actor-critic: convolutional torso, memory, linear heads."""

from typing import Any, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from longpass import _checks
from longpass._names import Family
from longpass.memory import GRU, LSTM, AbstractMemory, Concrete, Parallel

EMBEDDING = 128
POOL_SIZE = 198
CHANNELS = 16


class ActorCritic(eqx.Module):
    """Binary boards in; action logits and a value out, at every step.

    All families share torso and heads. The chain is fed the 128-unit embedding, parallel pools an
    embedding as wide as a pool (198), as in the paper. The torso sees all frames of an unroll at
    once; only the memory runs along time.

    **Arguments:** `family`, `board` (rows, columns, features), `pools` (see
    `longpass.theory.pools_for`), `actions`. `size` is the LSTM's or GRU's; `pool_options` go to
    `Concrete` or `Parallel`.
    """

    convolution: eqx.nn.Conv2d
    embedding: eqx.nn.Linear
    memory: AbstractMemory
    policy: eqx.nn.Linear
    value: eqx.nn.Linear

    def __init__(
        self,
        family: Family,
        board: tuple[int, int, int],
        *,
        pools: int = 9,
        actions: int = 5,
        size: int = 128,
        viewport_size: int = 16,
        summary_size: int = 128,
        key: PRNGKeyArray,
        **pool_options: Any,
    ):
        _checks.one_of("family", family, get_args(Family))
        rows, columns, features = (_checks.positive_int("board", size) for size in board)
        keys = jax.random.split(key, 5)
        sizes = {
            "pool_size": POOL_SIZE,
            "pools": pools,
            "base": 2.0,
            "viewport_size": viewport_size,
            "summary_size": summary_size,
        }
        embedding = POOL_SIZE if family == "parallel" else EMBEDDING
        self.convolution = eqx.nn.Conv2d(features, CHANNELS, 3, padding=1, key=keys[0])
        self.embedding = eqx.nn.Linear(CHANNELS * rows * columns, embedding, key=keys[1])
        match family:
            case "chain":
                self.memory = Concrete(embedding, **sizes, **pool_options, key=keys[2])
            case "parallel":
                self.memory = Parallel(embedding, **sizes, **pool_options, key=keys[2])
            case "lstm":
                self.memory = LSTM(embedding, size, key=keys[2])
            case "gru":
                self.memory = GRU(embedding, size, key=keys[2])
        (width,) = self.memory.output_shape
        self.policy = eqx.nn.Linear(width, actions, key=keys[3])
        self.value = eqx.nn.Linear(width, 1, key=keys[4])

    def embed(self, board: Float[Array, "rows columns features"]) -> Float[Array, " embedding"]:
        """What the memory reads of one frame."""
        seen = jax.nn.relu(self.convolution(jnp.moveaxis(board, -1, 0)))
        return jax.nn.relu(self.embedding(seen.ravel()))

    def unroll(
        self,
        state: Any,
        boards: Float[Array, "time rows columns features"],
        starts=None,
        block_every: int | None = None,
    ) -> tuple[Any, Float[Array, "time actions"], Float[Array, " time"]]:
        """(State after the last frame, action logits, values)."""
        xs = jax.vmap(self.embed)(boards)
        state, ys = self.memory.unroll(state, xs, starts, block_every)
        return state, jax.vmap(self.policy)(ys), jax.vmap(self.value)(ys)[:, 0]
