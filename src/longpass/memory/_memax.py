"""Models of memax (Morad et al.) under our contract.

memax clears states at starts itself, and runs whole sequences by its own scans. What it does not
have, blocked gradients, is added here.
"""

import difflib
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from longpass.memory._abstract import AbstractMemory, plain_unroll
from longpass.memory._arguments import check_step, check_unroll
from longpass.memory._types import DType


def make_memax(
    input_size: int,
    *,
    name: str,
    hidden_size: int = 32,
    output_size: int | None = None,
    num_layers: int = 1,
    dtype: DType = None,
    key: PRNGKeyArray,
    **layer_options: Any,
) -> "MemaxMemory":
    """Make a model of memax by its name: its own `ResidualModel` around one of its layers.

    **Arguments:**

    - `input_size`: width of the input.
    - `name`: as in memax's `get_residual_memory_models`: `"LRU"`, `"S6"`, `"FFM"` and others.
    - `hidden_size`: width of the layers.
    - `output_size`: width of the output. None: `hidden_size`.
    - `num_layers`: number of layers.
    - `dtype`: of parameters, inputs and outputs.
    - `key`: for the initial weights.
    - `layer_options`: further arguments of the layer, such as `window_size` of attention.
    """
    try:
        from memax.equinox import train_utils
    except ImportError as error:
        raise ValueError(
            f"memory is 'memax:{name}', which needs memax ({error}): pip install memax"
        ) from None
    output = hidden_size if output_size is None else output_size
    options = {name: layer_options} if layer_options else None
    try:
        model = train_utils.get_residual_memory_model(
            name, input_size, hidden_size, output, num_layers, key=key, layer_kwargs=options
        )
    except KeyError:
        close = difflib.get_close_matches(name, list_memax(), 1)
        hint = f" (did you mean memax:{close[0]}?)" if close else ""
        raise ValueError(
            f"memory is 'memax:{name}': it must be one of {', '.join(list_memax())}{hint}"
        ) from None
    return MemaxMemory(model, input_size, dtype=dtype)


def list_memax() -> list[str]:
    """Which models memax makes.

    **Returns:** their names.
    """
    from memax.equinox import train_utils

    models = train_utils.get_residual_memory_models(4, 4, 4, 1, key=jax.random.key(0))
    return list(models)


class MemaxMemory(AbstractMemory):
    """A model of memax as a memory."""

    input_size: int = eqx.field(static=True)
    dtype: np.dtype = eqx.field(static=True)
    output_size: int = eqx.field(static=True)
    # What is no weight: activations and sizes. As leaves and structure, since modules of memax hold
    # lists, and compiled programs must be able to hash what is static.
    static_leaves: tuple[Any, ...] = eqx.field(static=True)
    static_structure: Any = eqx.field(static=True)
    weights: Any

    def __init__(self, model: Any, input_size: int, *, dtype: DType = None):
        """**Arguments:**

        - `model`: a module of `memax.equinox`, called as `model(state, (xs, starts))`.
        - `input_size`: width of its input.
        - `dtype`: its parameters are cast to this dtype.
        """
        self.input_size = input_size
        self.dtype = jnp.zeros((), dtype).dtype
        # Only arrays are leaves of this memory: networks are passed to compiled programs.
        weights, static = eqx.partition(model, eqx.is_inexact_array)
        leaves, self.static_structure = jax.tree.flatten(static)
        self.static_leaves = tuple(leaves)
        self.weights = jax.tree.map(lambda leaf: leaf.astype(self.dtype), weights)
        if any(map(eqx.is_array, leaves)):
            raise ValueError("memory is a model with arrays of integers: it must have floats only")
        _, ys = jax.eval_shape(
            lambda state, xs: self._run(state, xs, jnp.zeros(1, bool)),
            self.initial_state(),
            jax.ShapeDtypeStruct((1, input_size), self.dtype),
        )
        self.output_size = ys.shape[-1]

    @property
    def output_shape(self) -> tuple[int, ...]:
        return (self.output_size,)

    def initial_state(self, batch_shape: tuple[int, ...] = ()) -> Any:
        """The state of a new sequence. Unlike ours, it need not be zeros."""
        state = self._model().initialize_carry()
        return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (*batch_shape, *leaf.shape)), state)

    def step(self, state, x, start=False):
        x = check_step(self, state, x, start)
        state, ys = self._run(state, x[None], jnp.asarray(start)[None])
        return state, ys[0]

    def unroll(self, state, xs, starts=None, block_every=None):
        xs = check_unroll(self, state, xs, starts, block_every)
        starts = jnp.zeros(len(xs), bool) if starts is None else jnp.asarray(starts)
        if len(xs) == 0:
            return state, jnp.zeros((0, self.output_size), self.dtype)
        if block_every is None or block_every >= len(xs):
            return self._run(state, xs, starts)
        return unroll_blocked(self, state, xs, starts, block_every)

    def _run(self, state: Any, xs: Any, starts: Any) -> tuple[Any, Any]:
        model = self._model()
        states, ys = model(state, (xs, starts))
        last = model.latest_recurrent_state(states)
        # memax remembers in its states whether there was a start. Only its scans need that.
        last = jax.tree.map(_forget_flag, last, model.initialize_carry())
        return last, ys.astype(self.dtype)

    def _model(self) -> Any:
        static = jax.tree.unflatten(self.static_structure, self.static_leaves)
        return eqx.combine(self.weights, static)


def _forget_flag(leaf: Any, first: Any) -> Any:
    """A part of the state, in the dtype in which it began; flags are taken back."""
    is_flag = first.ndim == 0 and first.dtype == jnp.bool_
    return first if is_flag else leaf.astype(first.dtype)


def unroll_blocked(
    memory: AbstractMemory, state: Any, xs: Any, starts: Any, block_every: int
) -> tuple[Any, Any]:
    """`memory.unroll` with blocked gradients, for a memory that has no such form.

    Values are those of the unroll without blocks, to the bit; tangents are those of the plain scan.
    """
    arrays, static = eqx.partition(memory, eqx.is_inexact_array)
    floats, rest = eqx.partition(state, eqx.is_inexact_array)

    @jax.custom_jvp
    def run(arrays, floats, xs):
        return eqx.combine(arrays, static).unroll(eqx.combine(floats, rest), xs, starts)

    @run.defjvp
    def run_jvp(primals, tangents):
        def plain(arrays, floats, xs):
            state = eqx.combine(floats, rest)
            return plain_unroll(eqx.combine(arrays, static), state, xs, starts, block_every)

        _, changes = jax.jvp(plain, primals, tangents)
        return run(*primals), changes

    return run(arrays, floats, xs)
