"""The contract of a memory, and the plain form of `unroll` that every faster one is held to."""

import abc
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PyTree

from longpass import _checks

State = PyTree[Array]
Start = Bool[Array, ""] | Bool[np.ndarray, ""] | bool
Starts = Bool[Array, " time"] | Bool[np.ndarray, " time"] | None


class AbstractMemory(eqx.Module):
    """Something that reads one input a step and keeps a state.

    Methods see one example and have time as their first axis; add a batch with `jax.vmap`.

    - `start[t]` is true where an episode or sequence begins: the state is cleared *before* x[t]
      is read.
    - `block_every=m` stops gradients through the state that is carried into steps m, 2m, ... of
      this unroll, and changes nothing else: outputs are equal to the bit.
    - `unroll` gives what as many calls of `step` give, in outputs and gradients.
    """

    input_size: eqx.AbstractVar[int]
    dtype: eqx.AbstractVar[Any]

    @property
    @abc.abstractmethod
    def output_shape(self) -> tuple[int, ...]:
        """The shape of one step's output."""

    @abc.abstractmethod
    def initial_state(self) -> State:
        """The empty memory: what a start leaves. A plain pytree of arrays."""

    @abc.abstractmethod
    def step(
        self, state: State, x: Float[Array, " input"], start: Start = False
    ) -> tuple[State, Float[Array, "*output"]]:
        """Read one input: (state after it, output)."""

    @abc.abstractmethod
    def unroll(
        self,
        state: State,
        xs: Float[Array, "time input"],
        starts: Starts = None,
        block_every: int | None = None,
    ) -> tuple[State, Float[Array, "time *output"]]:
        """Read inputs one after the other: (state after the last, outputs).

        `starts` None says that nothing starts here, which is faster to compute.
        """


def plain_unroll(
    memory: AbstractMemory,
    state: State,
    xs: Float[Array, "time input"],
    starts: Starts = None,
    block_every: int | None = None,
) -> tuple[State, Float[Array, "time *output"]]:
    """`memory.unroll` by a scan over `memory.step`: the reference, right by inspection."""
    check_unroll(memory, state, xs, starts, block_every)
    length = xs.shape[0]
    blocks = block_steps(length, block_every)

    def body(state: State, inputs):
        x, start, block = inputs
        return memory.step(block_gradient(state, block), x, False if start is None else start)

    return jax.lax.scan(body, state, (xs, starts, blocks), length=length)


def block_steps(length: int, block_every: int | None) -> Bool[np.ndarray, " time"] | None:
    """Where the state carried in lets no gradient pass; None if that is nowhere.

    The state that an unroll begins with is the caller's, so step 0 is never blocked.
    """
    if block_every is None or block_every >= length:
        return None
    steps = np.arange(length)
    return (steps % block_every == 0) & (steps > 0)


def clear(state: State, start: Start) -> State:
    """`state`, or zeros where `start`."""
    if start is False:
        return state
    return jax.tree.map(lambda leaf: jnp.where(start, jnp.zeros_like(leaf), leaf), state)


def block_gradient(state: State, block: Start | None) -> State:
    """`state`, with no gradient through it where `block`."""
    return state if block is None else jax.tree.map(lambda leaf: _blocked(leaf, block), state)


# A custom rule and not a `where` over `stop_gradient`: the forward program must not change at all.
@jax.custom_jvp
def _blocked(leaf: Array, block: Start) -> Array:
    del block
    return leaf


@_blocked.defjvp
def _blocked_jvp(primals, tangents):
    (leaf, block), (tangent, _) = primals, tangents
    return leaf, jnp.where(block, jnp.zeros_like(tangent), tangent)


def check_step(memory: AbstractMemory, state: State, x: Any, start: Any) -> None:
    """Raise where `memory.step` is called with what does not fit."""
    _check_array(memory, "x", x, (memory.input_size,), memory.dtype)
    _check_state(memory, state)
    if not isinstance(start, bool | np.bool_):
        _check_array(memory, "start", start, (), jnp.bool_)


def check_unroll(memory: AbstractMemory, state: State, xs: Any, starts: Any, block: Any) -> None:
    """Raise where `memory.unroll` is called with what does not fit."""
    length = xs.shape[0] if getattr(xs, "ndim", 0) else None
    _check_array(memory, "xs", xs, (length, memory.input_size), memory.dtype)
    _check_state(memory, state)
    if starts is not None:
        _check_array(memory, "starts", starts, (length,), jnp.bool_)
    if block is not None:
        _checks.positive_int("block_every", block)


def _check_array(memory, name: str, value: Any, shape: tuple, dtype: Any) -> None:
    right = f"shape {_written(shape)} and dtype {jnp.dtype(dtype).name}"
    where = f"{type(memory).__name__}: {name}"
    if not isinstance(value, jax.Array | np.ndarray):
        raise TypeError(f"{where} is {value!r}: it must be an array of {right}")
    if value.dtype != dtype:
        raise TypeError(f"{where} has dtype {value.dtype}: it must be of {right}")
    if len(value.shape) != len(shape) or any(
        size is not None and size != real for size, real in zip(shape, value.shape, strict=True)
    ):
        raise ValueError(
            f"{where} has shape {value.shape}: it must be of {right} (one example: "
            f"for a batch, use jax.vmap)"
        )


def _check_state(memory: AbstractMemory, state: State) -> None:
    right = jax.eval_shape(memory.initial_state)
    if jax.tree.structure(state) != jax.tree.structure(right):
        raise TypeError(
            f"{type(memory).__name__}: state is a {jax.tree.structure(state)}: it must be what "
            f"initial_state() or a step gave, {jax.tree.structure(right)}"
        )
    for leaf, like in zip(jax.tree.leaves(state), jax.tree.leaves(right), strict=True):
        _check_array(memory, "state", leaf, like.shape, like.dtype)


def _written(shape: tuple) -> str:
    sizes = ", ".join("time" if size is None else str(size) for size in shape)
    return f"({sizes}{',' if len(shape) == 1 else ''})"
