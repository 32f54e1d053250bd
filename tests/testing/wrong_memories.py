"""Memories that break the contract on purpose, each in one way, and the law that names it."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from longpass.memory import AbstractMemory, plain_unroll


class Right(AbstractMemory):
    """A small nonlinear memory that keeps every law; the others differ from it in one way."""

    input_size: int = eqx.field(static=True, default=3)
    dtype: Any = eqx.field(static=True, default=jnp.float32)
    write: jax.Array = eqx.field(
        default_factory=lambda: jax.random.normal(jax.random.key(0), (4, 3), jnp.float32)
    )
    keep: jax.Array = eqx.field(default_factory=lambda: jnp.array([0.5, 0.9, 0.7, 0.8], "float32"))

    @property
    def output_shape(self):
        return (4,)

    def initial_state(self, batch_shape=()):
        return jnp.zeros((*batch_shape, 4), self.dtype)

    def advance(self, state, x):
        return jnp.tanh(self.keep * state + self.write @ x)

    def step(self, state, x, start: Any = False):
        state = self.advance(jnp.where(start, jnp.zeros_like(state), state), x)
        return state, state

    def unroll(self, state, xs, starts=None, block_every=None):
        return plain_unroll(self, state, xs, starts, block_every)


class NoUnroll:
    """Lacks half of the contract."""

    input_size, dtype, output_shape = 3, jnp.float32, (4,)

    def initial_state(self, batch_shape=()):
        return jnp.zeros((*batch_shape, 4))

    def step(self, state, x, start: Any = False):
        return state, state


class GrowingState(Right):
    """Its state changes shape."""

    def step(self, state, x, start: Any = False):
        return jnp.concatenate([state, state[:1]]), state[:4]


class RandomStart(Right):
    """Rows of a batch begin differently."""

    def initial_state(self, batch_shape=()):
        shape = (*batch_shape, 4)
        if not batch_shape:
            return super().initial_state()
        return jax.random.normal(jax.random.key(1), shape, self.dtype)


class NotFinite(Right):
    """Its gradient is NaN where an output is 0: the square root of 0."""

    def advance(self, state, x):
        return super().advance(state, x) + jnp.sqrt(jnp.zeros_like(state) * state)


class Counting(Right):
    """Gives something else at every call."""

    calls: list = eqx.field(static=True, default_factory=list)

    def unroll(self, state, xs, starts=None, block_every=None):
        self.calls.append(None)
        state, ys = super().unroll(state, xs, starts, block_every)
        return state, ys * (1 + 1e-6 * len(self.calls))


class LateStart(Right):
    """Clears the state one step after the start, as PufferLib's MinGRU did in training."""

    def unroll(self, state, xs, starts=None, block_every=None):
        if starts is not None:
            starts = jnp.concatenate([jnp.zeros_like(starts[:1]), starts[:-1]])
        return super().unroll(state, xs, starts, block_every)


class ClearedAfter(Right):
    """Clears the state after the input of a start was read, instead of before."""

    def step(self, state, x, start: Any = False):
        y = self.advance(jnp.where(start, jnp.zeros_like(state), state), x)
        return jnp.where(start, jnp.zeros_like(y), y), y


class NoStartAtFirst(Right):
    """Ignores a start at the first step of a call: the state that was passed in stays."""

    def unroll(self, state, xs, starts=None, block_every=None):
        if starts is not None:
            starts = jnp.asarray(starts).at[0].set(False)
        return super().unroll(state, xs, starts, block_every)


class NoStartAtChunks(Right):
    """Works in chunks of 16 steps, and ignores a start at the first step of a chunk."""

    def unroll(self, state, xs, starts=None, block_every=None):
        if starts is not None:
            step = jnp.arange(len(xs))
            starts = starts & ((step % 16 != 0) | (step == 0))
        return super().unroll(state, xs, starts, block_every)


class LeakAcrossStart(Right):
    """Subtracts the old state at a start instead of clearing it, which gradients pass."""

    def step(self, state, x, start: Any = False):
        held = jax.lax.stop_gradient(state)
        state = self.advance(state - jnp.where(start, held, jnp.zeros_like(held)), x)
        return state, state


class OtherParallelForm(Right):
    """Its fast form decays by the square of what a step decays by."""

    def unroll(self, state, xs, starts=None, block_every=None):
        other = eqx.tree_at(lambda memory: memory.keep, self, self.keep**2)
        return plain_unroll(Right(write=other.write, keep=other.keep), state, xs, starts)


class OldState(Right):
    """Returns the state before the last input instead of after it."""

    def unroll(self, state, xs, starts=None, block_every=None):
        before, _ = super().unroll(state, xs[:-1], None if starts is None else starts[:-1])
        _, ys = super().unroll(state, xs, starts, block_every)
        return before, ys


class BlockClears(Right):
    """Cuts gradients by clearing the state, which changes outputs."""

    def unroll(self, state, xs, starts=None, block_every=None):
        if block_every is not None:
            borders = (jnp.arange(len(xs)) % block_every == 0) & (jnp.arange(len(xs)) > 0)
            starts = borders if starts is None else borders | starts
        return super().unroll(state, xs, starts)


class BlockLeaks(Right):
    """Ignores block_every."""

    def unroll(self, state, xs, starts=None, block_every=None):
        return super().unroll(state, xs, starts)


class BlockEarly(Right):
    """Cuts gradients one step too early."""

    def unroll(self, state, xs, starts=None, block_every=None):
        if block_every is None or len(xs) < 3:
            return super().unroll(state, xs, starts, block_every)
        first = None if starts is None else starts[:1]
        rest = None if starts is None else starts[1:]
        state, y = super().unroll(state, xs[:1], first)
        state, ys = super().unroll(state, xs[1:], rest, block_every)
        return state, jnp.concatenate([y, ys])


class WrongAxis(Right):
    """Reads a batch as if batch were the first axis."""

    def unroll_batch(self, states, xs, starts=None, block_every=None):
        time, rows, _ = xs.shape
        xs = xs.reshape(rows, time, -1).swapaxes(0, 1)
        return super().unroll_batch(states, xs, starts, block_every)


class MixedRows(Right):
    """Centres states over the batch, as BatchNorm would."""

    def unroll_batch(self, states, xs, starts=None, block_every=None):
        return super().unroll_batch(states, xs - xs.mean(axis=1, keepdims=True), starts)


WRONG = {
    NoUnroll: "interface",
    GrowingState: "shapes",
    RandomStart: "initial state",
    Counting: "deterministic",
    NotFinite: "finite",
    LateStart: "start on time",
    ClearedAfter: "start on time",
    NoStartAtFirst: "start of a chunk",
    NoStartAtChunks: "packed is separate",
    LeakAcrossStart: "packed is separate",
    OtherParallelForm: "steps are unroll",
    OldState: "cut is whole",
    BlockClears: "block leaves outputs",
    BlockLeaks: "block cuts gradients",
    BlockEarly: "block cuts gradients",
    WrongAxis: "rows are separate",
    MixedRows: "rows are separate",
}
"""The law that names what is wrong."""
