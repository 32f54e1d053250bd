"""Checks of the arguments of `step`, `unroll` and `unroll_batch`, shared by all memories."""

import functools
from collections.abc import Hashable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, Float, PyTree

from longpass import _checks
from longpass.memory._types import MemoryLike, State

# A length that is not known beforehand, in the shape that an argument must have.
_Shape = tuple[int | None, ...]


def choose_dtype(dtype: DTypeLike | None) -> np.dtype:
    """The dtype that an argument asks for. None: JAX's default, float32."""
    try:
        return jnp.zeros((), dtype).dtype
    except (TypeError, ValueError):
        raise TypeError(f"dtype is {dtype!r}: it must be a dtype, such as float32") from None


def check_step(
    memory: MemoryLike, state: State, x: object, start: object
) -> Float[Array, " input"]:
    """Check the arguments of `memory.step`.

    **Returns:**

    `x`, cast to the memory's dtype if it holds integers or bools.
    """
    cast = _cast_input(memory, x)
    _check_array(memory, "x", cast, (memory.input_size,), memory.dtype)
    _check_state(memory, state, ())
    if not isinstance(start, bool | np.bool_):
        _check_array(memory, "start", start, (), jnp.bool_)
    return cast


def check_unroll(
    memory: MemoryLike,
    state: State,
    xs: object,
    starts: object,
    block_every: object,
    *,
    batched: bool = False,
) -> Float[Array, "time *batch input"]:
    """Check the arguments of `memory.unroll`, or of `memory.unroll_batch` if `batched`.

    **Returns:**

    `xs`, cast to the memory's dtype if it holds integers or bools.
    """
    axes = 2 if batched else 1
    cast = _cast_input(memory, xs)
    given = getattr(cast, "shape", ())
    leading = tuple(given[:axes]) if len(given) == axes + 1 else (None,) * axes
    _check_array(memory, "xs", cast, (*leading, memory.input_size), memory.dtype)
    _check_state(memory, state, leading[1:])
    if starts is not None:
        _check_array(memory, "starts", starts, leading, jnp.bool_)
    if block_every is not None:
        _checks.positive_int("block_every", block_every)
    return cast


def _cast_input(memory: MemoryLike, value: Any) -> Any:
    dtype = getattr(value, "dtype", None)
    if dtype is not None and (dtype == jnp.bool_ or jnp.issubdtype(dtype, jnp.integer)):
        return jnp.asarray(value, memory.dtype)
    return value


def _check_array(
    memory: MemoryLike, name: str, value: object, shape: _Shape, dtype: DTypeLike
) -> None:
    right = f"shape {_format_shape(shape)} and dtype {jnp.dtype(dtype).name}"
    where = f"{type(memory).__name__}: {name}"
    if not isinstance(value, jax.Array | np.ndarray):
        raise TypeError(f"{where} is {value!r}: it must be an array of {right}")
    if value.dtype != dtype:
        raise TypeError(f"{where} has dtype {value.dtype}: it must be of {right}")
    if len(value.shape) != len(shape) or any(
        size is not None and size != real for size, real in zip(shape, value.shape, strict=True)
    ):
        raise ValueError(
            f"{where} has shape {value.shape}: it must be of {right} (step and unroll take one "
            f"example: for a batch, use jax.vmap or unroll_batch)"
        )


def _check_state(memory: MemoryLike, state: State, batch_shape: _Shape) -> None:
    right = _expected_state(memory)
    structure = jax.tree.structure(state)
    if structure != jax.tree.structure(right):
        raise TypeError(
            f"{type(memory).__name__}: state is a {structure}: it must be what "
            f"initial_state() or a step gave, {jax.tree.structure(right)}"
        )
    for leaf, like in zip(jax.tree.leaves(state), jax.tree.leaves(right), strict=True):
        _check_array(memory, "state", leaf, (*batch_shape, *like.shape), like.dtype)


def _expected_state(memory: MemoryLike) -> PyTree[jax.ShapeDtypeStruct]:
    """Shapes and dtypes of the memory's state."""
    if not isinstance(memory, eqx.Module):
        return jax.eval_shape(memory.initial_state)
    leaves, structure = jax.tree.flatten(memory)
    return _state_of(structure, tuple((jnp.shape(leaf), leaf.dtype) for leaf in leaves))


# Tracing `initial_state` at every call of `step` would take most of the call's time.
@functools.lru_cache(maxsize=256)
def _state_of(
    structure: Hashable, leaves: tuple[tuple[tuple[int, ...], np.dtype], ...]
) -> PyTree[jax.ShapeDtypeStruct]:
    like = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in leaves]
    return eqx.filter_eval_shape(
        lambda memory: memory.initial_state(), jax.tree.unflatten(structure, like)
    )


def _format_shape(shape: _Shape) -> str:
    names = iter(("time", "batch"))
    sizes = ", ".join(next(names) if size is None else str(size) for size in shape)
    return f"({sizes}{',' if len(shape) == 1 else ''})"
