"""The contract of a memory, and the plain form of `unroll` that every faster one is compared to."""

import abc
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from longpass.memory._arguments import check_unroll
from longpass.memory._types import (
    BatchInputs,
    BatchStarts,
    Input,
    Inputs,
    MemoryLike,
    Start,
    Starts,
    State,
)


class AbstractMemory(eqx.Module):
    """A module that reads one input per step and carries a state.

    `step` and `unroll` take one example, and time is the first axis. For a batch, use
    `unroll_batch` or `jax.vmap`.

    - `start[t]` is true where an episode or sequence begins: the state is cleared *before* x[t]
      is read.
    - `block_every=m` stops gradients through the state that is carried into steps m, 2m, ... of
      this unroll, and changes nothing else: outputs are equal to the bit.
    - `unroll` gives the same outputs and gradients as calling `step` in a loop.
    - Inputs of integer or bool dtype are cast to `dtype`; other dtypes are errors.

    A memory of your own defines `input_size`, `dtype`, `output_shape`, `initial_state`, `step` and
    `unroll` (`plain_unroll` will do); calling it and `unroll_batch` are then defined as well.

    >>> class Sum(AbstractMemory):
    ...     input_size: int = eqx.field(static=True)
    ...     dtype: Any = eqx.field(static=True, default=np.dtype("float32"))
    ...     output_shape = property(lambda self: (self.input_size,))
    ...     def initial_state(self, batch_shape=()):
    ...         return jnp.zeros((*batch_shape, self.input_size), self.dtype)
    ...     def step(self, state, x, start=False):
    ...         state = jnp.where(start, 0.0, state) + x
    ...         return state, state
    ...     def unroll(self, state, xs, starts=None, block_every=None):
    ...         return plain_unroll(self, state, xs, starts, block_every)
    >>> memory = Sum(2)
    >>> _, sums = memory(memory.initial_state(), jnp.ones((4, 2), memory.dtype))
    >>> sums[:, 0].tolist()
    [1.0, 2.0, 3.0, 4.0]
    """

    input_size: eqx.AbstractVar[int]
    """The width of one input."""
    dtype: eqx.AbstractVar[Any]
    """The dtype of inputs, state and outputs."""

    @property
    @abc.abstractmethod
    def output_shape(self) -> tuple[int, ...]:
        """The shape of the output of one step."""

    @abc.abstractmethod
    def initial_state(self, batch_shape: tuple[int, ...] = ()) -> State:
        """The empty memory: zeros.

        **Arguments:**

        - `batch_shape`: leading axes of every array of the state; `()` is one example.

        **Returns:**

        A plain pytree of arrays, each of shape `batch_shape` + its shape for one example.
        """

    @abc.abstractmethod
    def step(
        self, state: State, x: Input, start: Start = False
    ) -> tuple[State, Float[Array, "*output"]]:
        """Read one input.

        **Arguments:**

        - `state`: from `initial_state` or an earlier call.
        - `x`: the input, of shape `(input_size,)`.
        - `start`: whether a sequence begins here; the state is then cleared first.

        **Returns:**

        The state after the input, and the output of shape `output_shape`.
        """

    @abc.abstractmethod
    def unroll(
        self, state: State, xs: Inputs, starts: Starts = None, block_every: int | None = None
    ) -> tuple[State, Float[Array, "time *output"]]:
        """Read a sequence of inputs.

        **Arguments:**

        - `state`: from `initial_state` or an earlier call.
        - `xs`: the inputs, of shape `(time, input_size)`.
        - `starts`: where sequences begin, of shape `(time,)`. None means nowhere, which is faster.
        - `block_every`: stop gradients through the state every `block_every` steps. None: never.

        **Returns:**

        The state after the last input, and the outputs of shape `(time, *output_shape)`.
        """

    def __call__(
        self, state: State, xs: Inputs, starts: Starts = None, block_every: int | None = None
    ) -> tuple[State, Float[Array, "time *output"]]:
        """The same as `unroll`."""
        return self.unroll(state, xs, starts, block_every)

    def unroll_batch(
        self,
        states: State,
        xs: BatchInputs,
        starts: BatchStarts = None,
        block_every: int | None = None,
    ) -> tuple[State, Float[Array, "time batch *output"]]:
        """Read many sequences: `unroll` of each.

        **Arguments:**

        - `states`: as for `unroll`, with the batch as first axis: `initial_state((batch,))`.
        - `xs`: the inputs, of shape `(time, batch, input_size)`.
        - `starts`: where sequences begin, of shape `(time, batch)`, or None.
        - `block_every`: as for `unroll`.

        **Returns:**

        The states after the last inputs, batch first, and the outputs of shape
        `(time, batch, *output_shape)`.
        """
        xs = check_unroll(self, states, xs, starts, block_every, batched=True)

        def unroll(state, xs, starts):
            return self.unroll(state, xs, starts, block_every)

        return jax.vmap(unroll, in_axes=(0, 1, 1), out_axes=(0, 1))(states, xs, starts)


def plain_unroll(
    memory: MemoryLike,
    state: State,
    xs: Inputs,
    starts: Starts = None,
    block_every: int | None = None,
) -> tuple[State, Float[Array, "time *output"]]:
    """`memory.unroll` as a scan over `memory.step`: the reference for every faster form.

    **Arguments:**

    - `memory`: any memory.
    - `state`, `xs`, `starts`, `block_every`: as for `AbstractMemory.unroll`.

    **Returns:**

    The state after the last step and the outputs, as `AbstractMemory.unroll` does.
    """
    xs = check_unroll(memory, state, xs, starts, block_every)
    length = xs.shape[0]
    blocks = block_steps(length, block_every)

    def body(state: State, inputs):
        x, start, block = inputs
        return memory.step(block_gradient(state, block), x, False if start is None else start)

    return jax.lax.scan(body, state, (xs, starts, blocks), length=length)


def block_steps(length: int, block_every: int | None) -> Bool[np.ndarray, " time"] | None:
    """The steps into which the carried state passes no gradient; None if there are none.

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
    return state if block is None else jax.tree.map(lambda leaf: _block(leaf, block), state)


# A custom rule and not a `where` over `stop_gradient`: the forward program must not change at all.
@jax.custom_jvp
def _block(leaf: Array, block: Start) -> Array:
    del block
    return leaf


@_block.defjvp
def _block_jvp(primals, tangents):
    (leaf, block), (tangent, _) = primals, tangents
    return leaf, jnp.where(block, jnp.zeros_like(tangent), tangent)
