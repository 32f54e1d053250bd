"""Pools as memories of their own: a chain, and the parallel bank that is its control.

The recursion of section 2: p[n]_t = a_n p[n-1]_t + (1 - a_n) p[n]_{t-1}; the bank is figure 1b.
"""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from longpass import _checks
from longpass._rates import Rates
from longpass.memory._abstract import AbstractMemory, block_gradient, block_steps, clear
from longpass.memory._arguments import check_step, check_unroll, choose_dtype
from longpass.memory._filters import Filter, FilterForm, PoolHistory, filter_pools, step_pools
from longpass.memory._links import AbstractLink, check_link
from longpass.memory._types import DType, Inputs, Starts

Blocks = Bool[np.ndarray, " time"] | None


class AbstractPools(AbstractMemory):
    """k pools of one size. State and output are all pools, `(k, size)`."""

    size: eqx.AbstractVar[int]
    rates: eqx.AbstractVar[tuple[float, ...]]
    link: eqx.AbstractVar[AbstractLink | None]

    @property
    @abc.abstractmethod
    def filter(self) -> Filter:
        """The pools as linear filters, without links."""

    @property
    def output_shape(self) -> tuple[int, ...]:
        return (len(self.rates), self.size)

    def initial_state(self, batch_shape: tuple[int, ...] = ()) -> Float[Array, "*batch k size"]:
        return jnp.zeros((*batch_shape, *self.output_shape), self.dtype)

    def step(self, state, x, start=False):
        x = check_step(self, state, x, start)
        drive = self.rates[0] * x
        pools = jnp.stack(step_linked(self, clear(state, start), drive, len(self.rates)))
        return pools, pools

    def unroll(self, state, xs, starts=None, block_every=None):
        return unroll_pools(self, state, xs, starts, block_every)


class PoolChain(AbstractPools):
    """A chain of low-pass pools: pool 1 filters the input, pool n filters pool n - 1.

    p[n]_t = a_n p[n-1]_t + (1 - a_n) p[n]_{t-1}, with p[0] the input. Gradients pass through all
    pools. State and output are all pools, `(k, size)`.

    >>> chain = PoolChain(2, [0.5, 0.25])
    >>> _, pools = chain.unroll(chain.initial_state(), jnp.ones((3, 2)))
    >>> pools.shape
    (3, 2, 2)
    """

    input_size: int = eqx.field(static=True)
    size: int = eqx.field(static=True)
    rates: tuple[float, ...] = eqx.field(static=True)
    dtype: np.dtype = eqx.field(static=True)
    link: AbstractLink | None

    def __init__(
        self,
        size: int,
        rates: Rates,
        *,
        link: AbstractLink | None = None,
        dtype: DType = None,
    ):
        """**Arguments:**

        - `size`: width of the input and of every pool.
        - `rates`: a_1 .. a_k, each in (0, 1], such as `rates(2.0, 8)`.
        - `link`: operation between pools, such as `Gate(size, k)`. None: none, as in the paper.
        - `dtype`: of inputs and state, float32 or float64. None: JAX's default, float32.
        """
        self.size = self.input_size = _checks.positive_int("size", size)
        self.rates = _checks.rates_tuple(rates)
        self.dtype = _choose_dtype(dtype)
        self.link = check_link(link, self.size, len(self.rates))

    @property
    def filter(self) -> Filter:
        return Filter(self.rates, "chain")


def _choose_dtype(dtype: DType) -> np.dtype:
    chosen = choose_dtype(dtype)
    _checks.pool_dtype(chosen.name)
    return chosen


class PoolBank(AbstractPools):
    """Parallel low-pass pools: each filters the input at its own rate.

    p[n]_t = a_n h_t + (1 - a_n) p[n]_{t-1}. No pool feeds another, so there are no links. State
    and output are all pools, `(k, size)`.

    >>> bank = PoolBank(2, [0.5, 0.25])
    >>> _, pools = bank.unroll(bank.initial_state(), jnp.ones((3, 2)))
    >>> pools.shape
    (3, 2, 2)
    """

    input_size: int = eqx.field(static=True)
    size: int = eqx.field(static=True)
    rates: tuple[float, ...] = eqx.field(static=True)
    dtype: np.dtype = eqx.field(static=True)
    link: AbstractLink | None

    def __init__(self, size: int, rates: Rates, *, dtype: DType = None):
        """**Arguments:**

        - `size`: width of the input and of every pool.
        - `rates`: a_1 .. a_k, each in (0, 1], such as `rates(2.0, 8)`.
        - `dtype`: of inputs and state, float32 or float64. None: JAX's default, float32.
        """
        self.size = self.input_size = _checks.positive_int("size", size)
        self.rates = _checks.rates_tuple(rates)
        self.dtype = _choose_dtype(dtype)
        self.link = None

    @property
    def filter(self) -> Filter:
        return Filter(self.rates, "parallel")


def unroll_pools(
    memory: AbstractPools,
    state: Float[Array, "k size"],
    xs: Inputs,
    starts: Starts,
    block_every: int | None,
    form: FilterForm | None = None,
) -> tuple[Float[Array, "k size"], Float[Array, "time k size"]]:
    """`memory.unroll` by this form of the filters; None: the fastest one."""
    xs = check_unroll(memory, state, xs, starts, block_every)
    blocks = block_steps(xs.shape[0], block_every)
    drive = memory.rates[0] * xs
    if memory.link is None:
        pools = filter_pools(memory.filter, state, drive, starts, blocks, form)
    else:
        pools = run_linked(memory, state, drive, starts, blocks, len(memory.rates), form)
    return last_pools(state, pools), jnp.stack(pools, axis=1)


def step_linked(
    pools: AbstractPools, state: Float[Array, "k size"], drive: Float[Array, " size"], live: int
) -> list[Float[Array, " size"]]:
    """One step of every pool; gradients pass through the `live` fastest only."""
    if pools.link is None:
        return _cut_gradients(step_pools(pools.filter, state, drive), live)
    first = drive + (1.0 - pools.rates[0]) * state[0]
    out = _cut_gradients([first], live)
    for n in range(1, len(pools.rates)):
        feed, rate = pools.link(n, out[-1], drive, pools.rates[n])
        pool = rate * feed + (1.0 - rate) * state[n]
        out.append(pool if n < live else jax.lax.stop_gradient(pool))
    return out


def run_linked(
    pools: AbstractPools,
    state: Float[Array, "k size"],
    drive: Float[Array, "time size"],
    starts: Starts,
    blocks: Blocks,
    live: int,
    form: FilterForm | None = None,
) -> PoolHistory:
    """Pools with links, one after the other, each over all time at once.

    Gradients pass through the `live` fastest only.
    """
    assert pools.link is not None
    first = filter_pools(pools.filter.take(1), state[:1], drive, starts, blocks, form)
    out = _cut_gradients(list(first), live)
    for n in range(1, len(pools.rates)):
        feed, rate = pools.link(n, out[-1], drive, pools.rates[n])
        if isinstance(rate, float | int):
            single = Filter((rate,), "chain")
            (pool,) = filter_pools(single, state[n : n + 1], rate * feed, starts, blocks, form)
        else:
            pool = _filter_at_varying_rates(state[n], feed, rate, starts, blocks)
        out.append(pool if n < live else jax.lax.stop_gradient(pool))
    return tuple(out)


def last_pools(state: Float[Array, "k size"], pools: PoolHistory) -> Float[Array, "k size"]:
    """The state after an unroll: `state` itself if there was no step."""
    return jnp.stack([pool[-1] for pool in pools]) if pools[0].shape[0] else state


def _cut_gradients(pools: list[Array], live: int) -> list[Array]:
    return [*pools[:live], *map(jax.lax.stop_gradient, pools[live:])]


def _filter_at_varying_rates(
    state: Float[Array, " size"],
    feeds: Float[Array, "time size"],
    rates: Float[Array, "time size"],
    starts: Starts,
    blocks: Blocks,
) -> Float[Array, "time size"]:
    """One pool whose rate varies: it has no fixed impulse response, so step by step."""

    def body(pool, inputs):
        feed, rate, start, block = inputs
        pool = block_gradient(pool, block)
        pool = pool if start is None else clear(pool, start)
        pool = rate * feed + (1.0 - rate) * pool
        return pool, pool

    return jax.lax.scan(body, state, (feeds, rates, starts, blocks))[1]
