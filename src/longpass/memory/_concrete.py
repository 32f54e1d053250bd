"""The LP-RNN of the paper, nicknamed Concrete, and its parallel control."""

from typing import Any, Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from longpass import _checks
from longpass._names import Normalise
from longpass._rates import rates
from longpass.memory._contract import (
    AbstractMemory,
    block_steps,
    check_step,
    check_unroll,
    clear,
)
from longpass.memory._linear import run
from longpass.memory._links import AbstractLink, Gate, OrthonormalTanh, Projection
from longpass.memory._pools import (
    AbstractPools,
    PoolBank,
    PoolChain,
    last_pools,
    run_linked,
    step_linked,
)
from longpass.memory._reader import Activation, Reader
from longpass.memory._reading import read_frozen

LinkName = Literal["none", "orthonormal-tanh", "projection", "gate"]


class AbstractReadPools(AbstractMemory):
    """Pools that a learned matrix writes and a learned reader reads. The output is a summary."""

    input_size: int = eqx.field(static=True)
    gradient_pools: int = eqx.field(static=True)
    pools: AbstractPools
    write: Float[Array, "size input"]
    reader: Reader

    def __init__(
        self,
        pools: AbstractPools,
        *,
        input_size: int,
        viewport_size: int,
        summary_size: int,
        gradient_pools: int,
        read_input: bool,
        normalise: Normalise,
        activation: Activation,
        key: PRNGKeyArray,
    ):
        count = len(pools.rates)
        self.input_size = _checks.positive_int("input_size", input_size)
        self.gradient_pools = _checks.int_within("gradient_pools", gradient_pools, 0, count)
        self.pools = pools
        self.write = pools.rates[0] * jnp.eye(pools.size, input_size, dtype=pools.dtype)
        self.reader = Reader(
            input_size if read_input else None,
            pools.size,
            count,
            viewport_size,
            summary_size,
            normalise,
            activation,
            dtype=pools.dtype,
            key=key,
        )

    @property
    def dtype(self) -> Any:
        return self.pools.dtype

    @property
    def output_shape(self) -> tuple[int, ...]:
        return self.reader.summary_bias.shape

    def initial_state(self) -> Float[Array, "k size"]:
        return self.pools.initial_state()

    def step(self, state, x, start=False):
        check_step(self, state, x, start)
        drive = self.write @ x
        pools = jnp.stack(step_linked(self.pools, clear(state, start), drive, self.gradient_pools))
        return pools, self.reader.summarise(x, [self.reader.view_all(pools)])

    def unroll(self, state, xs, starts=None, block_every=None):
        check_unroll(self, state, xs, starts, block_every)
        blocks = block_steps(xs.shape[0], block_every)
        drive = xs @ self.write.T
        read = self._read if self.pools.links is None else self._read_linked
        state, views = read(state, drive, starts, blocks)
        return state, self.reader.summarise(xs, views)

    def _read(self, state, drive, starts, blocks):
        """Pools that pass gradients are computed; the rest are read without being kept."""
        filt, live = self.pools.filter, self.gradient_pools
        states, views = [], []
        beyond = drive
        if live:
            pools = run(filt.take(live), state[:live], drive, starts, blocks)
            states.append(last_pools(state[:live], pools))
            views += [self.reader.view(n, pool) for n, pool in enumerate(pools)]
            if live < len(filt.rates):
                beyond = filt.drive_beyond(live, drive, pools[-1])
        if live < len(filt.rates):
            last, more = read_frozen(
                self.reader, live, filt.drop(live), state[live:], beyond, starts
            )
            states.append(last)
            views += more
        return jnp.concatenate(states), views

    def _read_linked(self, state, drive, starts, blocks):
        pools = run_linked(self.pools, state, drive, starts, blocks, self.gradient_pools)
        views = [self.reader.view(n, pool) for n, pool in enumerate(pools)]
        return last_pools(state, pools), views


class Concrete(AbstractReadPools):
    """The LP-RNN: a chain of low-pass pools, each slower than the one before, and its reader.

    At each step the input is written into pool 1 by a learned matrix, every pool filters the one
    before it, a viewport (a small layer) looks at each pool and a summariser at all viewports. The
    output is the summary, (summary_size,); the state is all pools, (pools, pool_size).

    **Arguments:**

    - `input_size`: width of the input; it may be narrower or wider than a pool.
    - `pool_size`, `pools`, `base`: k pools of that width, of rates base^-1 .. base^-k.
    - `viewport_size`, `summary_size`: units of each viewport and of the summariser.
    - `gradient_pools`: how many of the fastest pools let gradients pass (0 to `pools`; the paper
      has 1). The reader of every pool learns whatever this is.
    - `read_input`: whether the reader sees the input beside the pools, through its own viewport.
    - `normalise`: `"none"` (the paper) or `"layer"`: each pool to mean 0 and variance 1 before its
      viewport, which puts slow, faint pools on one scale with fast ones. The pools stay linear.
    - `activation`: of viewports and summariser.
    - `link`: between pools, `"none"` (the paper), `"orthonormal-tanh"`, `"projection"` or
      `"gate"`: see the table of links in ARCHITECTURE.md.
    - `dtype`: of parameters and state; inputs must have it too. By default JAX's own.

    The matrix that writes starts as base^-1 times a padded identity and takes the place of the
    factor a_1, as in the paper's schematics.
    """

    def __init__(
        self,
        input_size: int,
        *,
        pool_size: int,
        pools: int,
        base: float,
        viewport_size: int,
        summary_size: int,
        gradient_pools: int = 1,
        read_input: bool = True,
        normalise: Normalise = "none",
        activation: Activation = jax.nn.relu,
        link: LinkName = "none",
        dtype: Any = None,
        key: PRNGKeyArray,
    ):
        reader_key, link_key = jax.random.split(key)
        a = rates(base, pools)
        links = _make_links(link, pool_size, pools, dtype, link_key)
        super().__init__(
            PoolChain(pool_size, a, link=links, dtype=dtype),
            input_size=input_size,
            viewport_size=viewport_size,
            summary_size=summary_size,
            gradient_pools=gradient_pools,
            read_input=read_input,
            normalise=normalise,
            activation=activation,
            key=reader_key,
        )


class Parallel(AbstractReadPools):
    """The control: as `Concrete`, but every pool filters what is written, side by side.

    Pool n takes in a_n / a_1 times what the learned matrix writes into pool 1. Without temporal
    tiling, a recent event shows in all pools. Arguments are those of `Concrete` but for `link`:
    no pool feeds another.
    """

    def __init__(
        self,
        input_size: int,
        *,
        pool_size: int,
        pools: int,
        base: float,
        viewport_size: int,
        summary_size: int,
        gradient_pools: int = 1,
        read_input: bool = True,
        normalise: Normalise = "none",
        activation: Activation = jax.nn.relu,
        link: Literal["none"] = "none",
        dtype: Any = None,
        key: PRNGKeyArray,
    ):
        if link != "none":
            raise ValueError(
                f"link is {link!r}: it must be 'none', since parallel pools do not feed each other"
            )
        super().__init__(
            PoolBank(pool_size, rates(base, pools), dtype=dtype),
            input_size=input_size,
            viewport_size=viewport_size,
            summary_size=summary_size,
            gradient_pools=gradient_pools,
            read_input=read_input,
            normalise=normalise,
            activation=activation,
            key=key,
        )


def _make_links(
    link: LinkName, size: int, pools: int, dtype: Any, key: PRNGKeyArray
) -> AbstractLink | None:
    _checks.one_of("link", link, get_args(LinkName))
    match link:
        case "none":
            return None
        case "projection":
            return Projection(size, pools, dtype=dtype)
        case "orthonormal-tanh":
            return OrthonormalTanh(size, pools, dtype=dtype, key=key)
        case "gate":
            return Gate(size, pools, dtype=dtype)
