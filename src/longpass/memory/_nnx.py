"""Cells of flax.nnx under our contract."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from longpass.memory._abstract import AbstractMemory, plain_unroll
from longpass.memory._arguments import check_step
from longpass.memory._types import DType


class NnxMemory(AbstractMemory):
    """A cell of flax.nnx as a memory: `cell(carry, x) -> (carry, y)`, with `initialize_carry`.

    Starts clear the carry to what `initialize_carry` gives.
    """

    input_size: int = eqx.field(static=True)
    dtype: np.dtype = eqx.field(static=True)
    output_size: int = eqx.field(static=True)
    graph: Any = eqx.field(static=True)
    structure: Any = eqx.field(static=True)
    weights: tuple[Array, ...]

    def __init__(self, cell: Any, input_size: int, *, dtype: DType = None):
        """**Arguments:**

        - `cell`: the cell. What it holds besides weights (random keys) is not kept up to date.
        - `input_size`: width of its input.
        - `dtype`: its weights are cast to this dtype.
        """
        from flax import nnx

        self.input_size = input_size
        self.dtype = jnp.zeros((), dtype).dtype
        self.graph, state = nnx.split(cell)
        leaves, self.structure = jax.tree.flatten(state)
        if not all(map(eqx.is_inexact_array, leaves)):
            raise ValueError(
                "memory is a cell with arrays that are no weights, such as random keys: it must "
                "have weights only (keep_rngs=False, no dropout)"
            )
        self.weights = tuple(leaf.astype(self.dtype) for leaf in leaves)
        _, y = jax.eval_shape(
            lambda state, x: self._advance(state, x),
            self.initial_state(),
            jax.ShapeDtypeStruct((input_size,), self.dtype),
        )
        self.output_size = y.shape[-1]

    @property
    def output_shape(self) -> tuple[int, ...]:
        return (self.output_size,)

    def initial_state(self, batch_shape: tuple[int, ...] = ()) -> Any:
        """What `initialize_carry` gives, for every row."""
        from flax import nnx

        carry = self._cell().initialize_carry((self.input_size,), nnx.Rngs(0))
        return jax.tree.map(
            lambda leaf: jnp.broadcast_to(leaf, (*batch_shape, *leaf.shape)).astype(self.dtype),
            carry,
        )

    def step(self, state, x, start=False):
        x = check_step(self, state, x, start)
        if start is not False:
            empty = self.initial_state()
            state = jax.tree.map(lambda new, old: jnp.where(start, new, old), empty, state)
        return self._advance(state, x)

    def unroll(self, state, xs, starts=None, block_every=None):
        return plain_unroll(self, state, xs, starts, block_every)

    def _advance(self, state: Any, x: Any) -> tuple[Any, Any]:
        state, y = self._cell()(state, x)
        return state, y.astype(self.dtype)

    def _cell(self) -> Any:
        from flax import nnx

        state: Any = jax.tree.unflatten(self.structure, self.weights)
        return nnx.merge(self.graph, state)
