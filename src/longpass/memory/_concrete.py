"""The LP-RNN of the paper, nicknamed Concrete, and its parallel control.

Section 2 of the paper, its figure 1 and appendix D (schematics).
"""

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from longpass import _checks
from longpass._rates import MOST_POOLS, rates
from longpass.memory._abstract import AbstractMemory, block_steps, clear
from longpass.memory._arguments import check_step, check_unroll
from longpass.memory._filters import Filter, FilterForm, filter_pools
from longpass.memory._frozen_pools import ReadForm, read_frozen
from longpass.memory._links import AbstractLink
from longpass.memory._names import Normalise
from longpass.memory._pools import (
    AbstractPools,
    PoolBank,
    PoolChain,
    last_pools,
    run_linked,
    step_linked,
)
from longpass.memory._reader import Activation, Reader
from longpass.memory._types import DType, Inputs, Starts
from longpass.theory import Wiring, pools_for

Memory = TypeVar("Memory", bound="PooledMemory")


class PooledMemory(AbstractMemory):
    """Pools that a learned matrix writes and a learned reader reads: `Concrete` or `Parallel`."""

    _wiring: ClassVar[Wiring]
    input_size: int = eqx.field(static=True)
    base: float = eqx.field(static=True)
    gradient_pools: int = eqx.field(static=True)
    filters: AbstractPools
    """The pools: a `PoolChain` or a `PoolBank`."""
    write: Float[Array, "size input"]
    """The learned matrix from the input to pool 1."""
    reader: Reader
    """Viewports and summariser."""

    def __init__(
        self,
        filters: AbstractPools,
        reader: Reader,
        *,
        input_size: int,
        base: float,
        gradient_pools: int,
    ):
        self.input_size = _checks.positive_int("input_size", input_size)
        self.base = float(base)
        self.gradient_pools = _checks.int_within(
            "gradient_pools", gradient_pools, 0, len(filters.rates)
        )
        self.filters = filters
        self.write = filters.rates[0] * jnp.eye(filters.size, input_size, dtype=filters.dtype)
        self.reader = reader

    @classmethod
    def for_horizon(
        cls: type[Memory],
        input_size: int,
        output_size: int = 128,
        *,
        horizon: float | int,
        base: float = 2.0,
        key: PRNGKeyArray,
        **options: Any,
    ) -> Memory:
        """A memory with the fewest pools that reach back `horizon` steps.

        **Arguments:**

        - `input_size`, `output_size`, `base`, `key`: as for the class.
        - `horizon`: the mean age, in steps, that the contents of the last pool must reach (see
          `longpass.theory.pools_for`).
        - `options`: other arguments of the class, except `num_pools`.

        >>> Concrete.for_horizon(10, horizon=280, key=jax.random.key(0)).num_pools
        8
        """
        make = cast(Callable[..., Memory], cls)
        num_pools = pools_for(horizon, base, cls._wiring)
        return make(input_size, output_size, num_pools=num_pools, base=base, key=key, **options)

    @property
    def dtype(self) -> np.dtype:
        return self.filters.dtype

    @property
    def output_shape(self) -> tuple[int, ...]:
        return (self.output_size,)

    @property
    def output_size(self) -> int:
        """Units of the summariser."""
        return self.reader.summary_bias.shape[-1]

    @property
    def num_pools(self) -> int:
        """Number of pools."""
        return len(self.filters.rates)

    @property
    def pool_size(self) -> int:
        """Units of each pool."""
        return self.filters.size

    @property
    def viewport_size(self) -> int:
        """Units of each viewport."""
        return self.reader.viewports.shape[-2]

    @property
    def read_input(self) -> bool:
        """Whether the reader sees the input."""
        return self.reader.input_viewport is not None

    @property
    def normalise(self) -> Normalise | None:
        """How pools are normalised before their viewports."""
        return self.reader.normalise

    @property
    def activation(self) -> Activation:
        """The activation of viewports and summariser."""
        return self.reader.activation

    @property
    def link(self) -> AbstractLink | None:
        """The operation between pools."""
        return self.filters.link

    @property
    def filter(self) -> Filter:
        """The pools as linear filters, without links."""
        return self.filters.filter

    def initial_state(
        self, batch_shape: tuple[int, ...] = ()
    ) -> Float[Array, "*batch num_pools pool_size"]:
        return self.filters.initial_state(batch_shape)

    def step(self, state, x, start=False):
        x = check_step(self, state, x, start)
        drive = self.write @ x
        state = clear(state, start)
        pools = jnp.stack(step_linked(self.filters, state, drive, self.gradient_pools))
        return pools, self.read(pools, x)

    def unroll(self, state, xs, starts=None, block_every=None):
        return unroll_pooled(self, state, xs, starts, block_every)

    def read(
        self,
        pools: Float[Array, "*batch num_pools pool_size"],
        x: Float[Array, "*batch input_size"],
    ) -> Float[Array, "*batch output"]:
        """The output of steps at which pools and inputs are known already.

        **Arguments:**

        - `pools`: the pools after the step, of shape `(..., num_pools, pool_size)`.
        - `x`: the input of the step, of shape `(..., input_size)`.

        **Returns:**

        The outputs, of shape `(..., output_size)`.
        """
        view_all = self.reader.view_all
        for _ in range(pools.ndim - 2):
            view_all = jax.vmap(view_all)
        return self.reader.summarise(x, [view_all(pools)])


class Concrete(PooledMemory):
    """The LP-RNN: a chain of low-pass pools, each slower than the one before, and its reader.

    At each step a learned matrix writes the input into pool 1, every pool filters the pool before
    it, a viewport (a small layer) reads each pool, and a summariser reads all viewports. The output
    is the summariser's, `(output_size,)`; the state is all pools, `(num_pools, pool_size)`.

    The learned matrix starts as base^-1 times a padded identity and replaces the factor a_1, as in
    the paper's schematics.

    >>> memory = Concrete(10, key=jax.random.key(0))
    >>> state, ys = memory.unroll(memory.initial_state(), jnp.ones((300, 10)))
    >>> state.shape, ys.shape
    ((8, 64), (300, 128))
    """

    _wiring: ClassVar[Wiring] = "chain"

    def __init__(
        self,
        input_size: int,
        output_size: int = 128,
        *,
        num_pools: int = 8,
        pool_size: int = 64,
        base: float = 2.0,
        viewport_size: int = 16,
        gradient_pools: int = 1,
        read_input: bool = True,
        normalise: Normalise | None = None,
        activation: Activation = jax.nn.relu,
        link: AbstractLink | None = None,
        dtype: DType = None,
        key: PRNGKeyArray,
    ):
        """**Arguments:**

        - `input_size`: width of the input; it may be smaller or larger than a pool.
        - `output_size`: units of the summariser.
        - `num_pools`: number of pools (k in the paper).
        - `pool_size`: units of each pool (D).
        - `base`: the rates of the pools are base^-1 .. base^-num_pools (b).
        - `viewport_size`: units of each viewport (V).
        - `gradient_pools`: how many of the fastest pools pass gradients, 0 to `num_pools` (1 in
          the paper). The reader of every pool learns in any case.
        - `read_input`: whether the reader sees the input too, through a viewport of its own.
        - `normalise`: None (the paper), or `"layer"`: each pool is scaled to mean 0 and variance 1
          before its viewport, which brings slow pools, whose contents are small, to the scale of
          fast ones. The pools themselves stay linear.
        - `activation`: of viewports and summariser.
        - `link`: operation between pools, such as `Gate(pool_size, num_pools)`. None: none, as in
          the paper.
        - `dtype`: of parameters, inputs and state. None: JAX's default, float32.
        - `key`: for the initial weights.
        """
        check_sizes(input_size, pool_size, num_pools)
        # Only one half of the key is used: initial weights must not change between versions.
        reader_key, _ = jax.random.split(key)
        filters = PoolChain(pool_size, rates(base, num_pools), link=link, dtype=dtype)
        reads = input_size if read_input else None
        reader = Reader(
            filters, reads, output_size, viewport_size, normalise, activation, key=reader_key
        )
        super().__init__(
            filters, reader, input_size=input_size, base=base, gradient_pools=gradient_pools
        )


class Parallel(PooledMemory):
    """The control: as `Concrete`, but every pool filters what is written, in parallel.

    Pool n takes in a_n / a_1 times what the learned matrix writes into pool 1. Pools do not tile
    the past: a recent event shows in all of them.

    >>> memory = Parallel(10, num_pools=5, key=jax.random.key(0))
    >>> state, ys = memory.unroll(memory.initial_state(), jnp.ones((300, 10)))
    >>> state.shape, ys.shape
    ((5, 64), (300, 128))
    """

    _wiring: ClassVar[Wiring] = "parallel"

    def __init__(
        self,
        input_size: int,
        output_size: int = 128,
        *,
        key: PRNGKeyArray,
        dtype: DType = None,
        num_pools: int = 8,
        pool_size: int = 64,
        base: float = 2.0,
        viewport_size: int = 16,
        gradient_pools: int = 1,
        read_input: bool = True,
        normalise: Normalise | None = None,
        activation: Activation = jax.nn.relu,
    ):
        """**Arguments:** those of `Concrete` except `link`, since no pool feeds another."""
        check_sizes(input_size, pool_size, num_pools)
        filters = PoolBank(pool_size, rates(base, num_pools), dtype=dtype)
        reads = input_size if read_input else None
        reader = Reader(filters, reads, output_size, viewport_size, normalise, activation, key=key)
        super().__init__(
            filters, reader, input_size=input_size, base=base, gradient_pools=gradient_pools
        )


def check_sizes(input_size: object, pool_size: object, num_pools: object) -> None:
    """Check arguments by their own names, before other classes check them by theirs."""
    _checks.positive_int("input_size", input_size)
    _checks.positive_int("pool_size", pool_size)
    _checks.int_within("num_pools", num_pools, 1, MOST_POOLS)


def unroll_pooled(
    memory: PooledMemory,
    state: Float[Array, "num_pools pool_size"],
    xs: Inputs,
    starts: Starts,
    block_every: int | None,
    *,
    filter_form: FilterForm | None = None,
    read_form: ReadForm | None = None,
) -> tuple[Float[Array, "num_pools pool_size"], Float[Array, "time output"]]:
    """`memory.unroll` by these forms of filters and of reading frozen pools; None: the fastest."""
    xs = check_unroll(memory, state, xs, starts, block_every)
    blocks = block_steps(xs.shape[0], block_every)
    drive = xs @ memory.write.T
    filters, reader, live = memory.filters, memory.reader, memory.gradient_pools
    if filters.link is not None:
        pools = run_linked(filters, state, drive, starts, blocks, live, filter_form)
        views = [reader.view(n, pool) for n, pool in enumerate(pools)]
        return last_pools(state, pools), reader.summarise(xs, views)
    # Pools that pass gradients are computed; the others are read without being kept.
    filt = filters.filter
    states, views = [], []
    beyond = drive
    if live:
        pools = filter_pools(filt.take(live), state[:live], drive, starts, blocks, filter_form)
        states.append(last_pools(state[:live], pools))
        views += [reader.view(n, pool) for n, pool in enumerate(pools)]
        if live < memory.num_pools:
            beyond = filt.drive_beyond(live, drive, pools[-1])
    if live < memory.num_pools:
        last, more = read_frozen(
            reader, live, filt.drop(live), state[live:], beyond, starts, read_form
        )
        states.append(last)
        views += more
    return jnp.concatenate(states), reader.summarise(xs, views)
