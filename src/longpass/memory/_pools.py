"""Pools as memories of their own: a chain, and the parallel bank that is its control."""

import abc
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from longpass import _checks
from longpass._rates import Rates
from longpass.memory._contract import (
    AbstractMemory,
    block_gradient,
    block_steps,
    check_step,
    check_unroll,
    clear,
)
from longpass.memory._linear import Filter, Pools, run, step_pools
from longpass.memory._links import AbstractLink


class AbstractPools(AbstractMemory):
    """k pools of one size. State and output are all pools, (k, size)."""

    size: eqx.AbstractVar[int]
    rates: eqx.AbstractVar[tuple[float, ...]]

    @property
    @abc.abstractmethod
    def filter(self) -> Filter:
        """The pools as filters, without links."""

    @property
    @abc.abstractmethod
    def links(self) -> AbstractLink | None:
        """What happens between the pools."""

    @property
    def output_shape(self) -> tuple[int, ...]:
        return (len(self.rates), self.size)

    def initial_state(self) -> Float[Array, "k size"]:
        return jnp.zeros(self.output_shape, self.dtype)

    def step(self, state, x, start=False):
        check_step(self, state, x, start)
        drive = self.rates[0] * x
        pools = jnp.stack(step_linked(self, clear(state, start), drive, len(self.rates)))
        return pools, pools

    def unroll(self, state, xs, starts=None, block_every=None):
        check_unroll(self, state, xs, starts, block_every)
        blocks = block_steps(xs.shape[0], block_every)
        drive = self.rates[0] * xs
        if self.links is None:
            pools = run(self.filter, state, drive, starts, blocks)
        else:
            pools = run_linked(self, state, drive, starts, blocks, len(self.rates))
        return last_pools(state, pools), jnp.stack(pools, axis=1)


class PoolChain(AbstractPools):
    """A chain of low-pass pools: pool 1 filters the input, pool n filters pool n - 1.

    p[n]_t = a_n p[n-1]_t + (1 - a_n) p[n]_{t-1}, with p[0] the input. Gradients pass through all
    pools.

    **Arguments:** `size`: width of the input and of every pool. `rates`: a_1 .. a_k, each in
    (0, 1], such as `rates(2.0, 8)`. `link`: what happens between pools (None: nothing).
    """

    input_size: int = eqx.field(static=True)
    size: int = eqx.field(static=True)
    rates: tuple[float, ...] = eqx.field(static=True)
    dtype: Any = eqx.field(static=True)
    link: AbstractLink | None

    def __init__(
        self,
        size: int,
        rates: Rates,
        *,
        link: AbstractLink | None = None,
        dtype: Any = None,
    ):
        self.size = self.input_size = _checks.positive_int("size", size)
        self.rates = _checks.rates_tuple(rates)
        self.dtype = jnp.zeros((), dtype).dtype
        self.link = link

    @property
    def filter(self) -> Filter:
        return Filter(self.rates, "chain")

    @property
    def links(self) -> AbstractLink | None:
        return self.link


class PoolBank(AbstractPools):
    """Parallel low-pass pools: each filters the input at its own rate.

    p[n]_t = a_n h_t + (1 - a_n) p[n]_{t-1}. No pool feeds another, so there are no links.

    **Arguments:** `size` and `rates` as for `PoolChain`.
    """

    input_size: int = eqx.field(static=True)
    size: int = eqx.field(static=True)
    rates: tuple[float, ...] = eqx.field(static=True)
    dtype: Any = eqx.field(static=True)

    def __init__(self, size: int, rates: Rates, *, dtype: Any = None):
        self.size = self.input_size = _checks.positive_int("size", size)
        self.rates = _checks.rates_tuple(rates)
        self.dtype = jnp.zeros((), dtype).dtype

    @property
    def filter(self) -> Filter:
        return Filter(self.rates, "parallel")

    @property
    def links(self) -> None:
        return None


def step_linked(
    pools: AbstractPools, state: Float[Array, "k size"], drive: Float[Array, " size"], live: int
) -> list[Float[Array, " size"]]:
    """One step of every pool; gradients pass through the `live` fastest only."""
    if pools.links is None:
        return _cut_gradients(step_pools(pools.filter, state, drive), live)
    first = drive + (1.0 - pools.rates[0]) * state[0]
    out = _cut_gradients([first], live)
    for n in range(1, len(pools.rates)):
        feed, rate = pools.links(n, out[-1], drive, pools.rates[n])
        pool = rate * feed + (1.0 - rate) * state[n]
        out.append(pool if n < live else jax.lax.stop_gradient(pool))
    return out


def run_linked(
    pools: AbstractPools, state: Float[Array, "k size"], drive, starts, blocks, live: int
) -> Pools:
    """Pools with links, one after the other, each over all time at once."""
    assert pools.links is not None
    first = run(pools.filter.take(1), state[:1], drive, starts, blocks)
    out = _cut_gradients(list(first), live)
    for n in range(1, len(pools.rates)):
        feed, rate = pools.links(n, out[-1], drive, pools.rates[n])
        if isinstance(rate, float):
            single = Filter((rate,), "chain")
            (pool,) = run(single, state[n : n + 1], rate * feed, starts, blocks)
        else:
            pool = _moving(state[n], feed, rate, starts, blocks)
        out.append(pool if n < live else jax.lax.stop_gradient(pool))
    return tuple(out)


def last_pools(state: Float[Array, "k size"], pools: Pools) -> Float[Array, "k size"]:
    """The state after an unroll: `state` itself if there was no step."""
    return jnp.stack([pool[-1] for pool in pools]) if pools[0].shape[0] else state


def _cut_gradients(pools: list[Array], live: int) -> list[Array]:
    return [*pools[:live], *map(jax.lax.stop_gradient, pools[live:])]


def _moving(state: Float[Array, " size"], feeds, rates, starts, blocks):
    """A pool whose rate moves with time: no fixed impulse response, so step by step."""

    def body(pool, inputs):
        feed, rate, start, block = inputs
        pool = block_gradient(pool, block)
        pool = pool if start is None else clear(pool, start)
        pool = rate * feed + (1.0 - rate) * pool
        return pool, pool

    return jax.lax.scan(body, state, (feeds, rates, starts, blocks))[1]
