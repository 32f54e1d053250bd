"""Pools as linear filters, p_t = A p_{t-1} + c u_t, in several exact forms.

Section 4.1 of the paper takes this view; the recursion is that of section 2.

- `scan_form`: the recursion, elementwise, step by step.
- `chunk_form`: products with a table of impulse responses. Within a chunk of C steps the pools
  are a (C, k + C) matrix times [the pools that enter the chunk; its C inputs]. A single chunk is
  one product; in long unrolls a scan over the ends of chunks, k x k, connects them, so that the
  cost stays linear in time.

A start inside a chunk sets the table's entries across it to zero, which is exact whatever the
state was before. Filters are linear, so gradients are blocked in the same way: tangents are
cleared where the state must not carry them.

Here u is what enters pool 1 directly: `a_1 h` for an input h, or the product of a learned matrix.
Pools are a tuple of (time, size) arrays, fastest first, so that no form has to interleave them.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from longpass.memory._types import Starts
from longpass.theory import Wiring, transition

# Steps per chunk, measured on two CPU cores; see the table of forms in ARCHITECTURE.md.
CHUNK = 32


@dataclasses.dataclass(frozen=True)
class Filter:
    """The rates of pools, fastest first, and how the pools are fed. Hashable, so static.

    >>> Filter((0.5, 0.25, 0.125), "chain").take(2)
    Filter(rates=(0.5, 0.25), wiring='chain')
    """

    rates: tuple[float, ...]
    wiring: Wiring

    @property
    def gains(self) -> tuple[float, ...]:
        """The factor of each pool's input (1 for pool 1: u enters it directly)."""
        first, rest = self.rates[0], self.rates[1:]
        chained = self.wiring == "chain"
        return (1.0, *(rate if chained else rate / first for rate in rest))

    def take(self, count: int) -> "Filter":
        """The `count` fastest pools."""
        return Filter(self.rates[:count], self.wiring)

    def drop(self, count: int) -> "Filter":
        """All but the `count` fastest pools."""
        return Filter(self.rates[count:], self.wiring)

    def drive_beyond(self, count: int, drive: Array, last: Array) -> Array:
        """The input of `drop(count)`, where `last` are the contents of pool number `count`."""
        if self.wiring == "chain":
            return self.rates[count] * last
        return (self.rates[count] / self.rates[0]) * drive


# The contents of each pool at every step.
PoolHistory = tuple[Float[Array, "time size"], ...]
# A form computes them from a filter, the state, the drive u and starts.
FilterForm = Callable[[Filter, Array, Array, Starts], PoolHistory]


def step_pools(
    filt: Filter, state: Iterable[Float[Array, " size"]], drive: Float[Array, " size"]
) -> list[Float[Array, " size"]]:
    """One step of every pool: the definition of all forms."""
    pools, below = [], drive
    for rate, gain, old in zip(filt.rates, filt.gains, state, strict=True):
        pools.append(gain * below + (1.0 - rate) * old)
        below = pools[-1] if filt.wiring == "chain" else drive
    return pools


def filter_pools(
    filt: Filter,
    state: Float[Array, "k size"],
    drive: Float[Array, "time size"],
    starts: Starts,
    blocks: Bool[np.ndarray, " time"] | None,
    form: FilterForm | None = None,
) -> PoolHistory:
    """All pools at all steps. Differentiable in `state` and `drive`.

    **Arguments:**

    - `filt`: the pools' rates and wiring.
    - `state`: the pools before the first step.
    - `drive`: what enters pool 1 at each step.
    - `starts`: where the state is cleared, or None.
    - `blocks`: where the carried state passes no gradient, or None.
    - `form`: how to compute it; None: the fastest form on this platform.
    """
    if drive.shape[0] == 0:
        return (drive,) * len(filt.rates)
    cleared = starts
    if blocks is not None:
        cleared = jnp.asarray(blocks) if starts is None else starts | blocks
    return _filter(filt, form or fastest_form(), state, drive, starts, cleared)


def fastest_form() -> FilterForm:
    """The form that is faster on this platform."""
    return scan_form if on_cpu() else chunk_form


# The derivative is defined by hand even where nothing is blocked: forward programs must be the
# same for every `block_every`, or they might round differently.
@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _filter(filt, form, state, drive, starts, cleared) -> PoolHistory:
    """The pools; their tangents are cleared at `cleared`."""
    del cleared
    return form(filt, state, drive, starts)


@_filter.defjvp
def _filter_jvp(filt, form, primals, tangents):
    (state, drive, starts, cleared), (state_dot, drive_dot, _, _) = primals, tangents
    pools = _filter(filt, form, state, drive, starts, cleared)
    return pools, form(filt, state_dot, drive_dot, cleared)


def scan_form(filt: Filter, state, drive, starts) -> PoolHistory:
    """The recursion itself: elementwise, so limited by memory bandwidth, not by arithmetic."""

    def body(state, inputs):
        u, start = inputs
        if start is not None:
            state = tuple(jnp.where(start, jnp.zeros_like(pool), pool) for pool in state)
        pools = tuple(step_pools(filt, state, u))
        return pools, pools

    length = drive.shape[0]
    return jax.lax.scan(body, tuple(state), (drive, starts), unroll=length <= 4)[1]


def chunk_form(filt: Filter, state, drive, starts, chunk: int = CHUNK) -> PoolHistory:
    """Products with the impulse table, chunk by chunk of at most `chunk` steps."""
    chunks = split_into_chunks(filt, state, drive, starts, chunk)
    pools = jnp.einsum(f"{chunks.table_axes},qrd->nqtd", chunks.table, chunks.rows)
    return tuple(pool.reshape(-1, drive.shape[1])[: drive.shape[0]] for pool in pools)


@dataclasses.dataclass(frozen=True)
class Chunks:
    """An unroll split into q chunks of C steps, the last one padded with zeros."""

    rows: Float[Array, "q rows size"]
    """What each chunk is computed from: the k pools that enter it, then its C inputs."""
    table: Float[Array, "*q k chunk rows"]
    """The weight of each row in each pool at each step; one table per chunk if there are starts."""
    last: Float[Array, "k size"]
    """The pools after the last step."""

    @property
    def table_axes(self) -> str:
        """The table's axes, for einsum."""
        return "qntr" if self.table.ndim == 4 else "ntr"


def split_into_chunks(filt: Filter, state, drive, starts, chunk: int = CHUNK) -> Chunks:
    """Split an unroll into chunks and compute the pools that enter each."""
    length, size = drive.shape
    k = len(filt.rates)
    q = -(-length // chunk)
    C = -(-length // q)
    tail = length - (q - 1) * C  # steps of the last chunk that are real
    inputs = jnp.pad(drive, ((0, q * C - length), (0, 0))).reshape(q, C, size)
    table = jnp.asarray(_impulse_table(filt, C), drive.dtype)
    if starts is not None:
        segment = jnp.cumsum(jnp.pad(starts, (0, q * C - length)).reshape(q, C), axis=1)
        source = jnp.pad(segment, ((0, 0), (k, 0)))  # entering pools belong to segment 0
        same = segment[:, :, None] == source[:, None, :]
        table = jnp.where(same[:, None], table, 0)

    def leave(row: int, which: slice):
        """(A, e) of chunks in `which`: pools after `row` = A @ entering pools + e."""
        rule = table[..., row, :] if starts is None else table[which, :, row, :]
        axes = "nr" if starts is None else "qnr"
        return rule[..., :k], jnp.einsum(f"{axes},qrd->qnd", rule[..., k:], inputs[which])

    final, entering = state, state[None]
    if q > 1:
        carry, added = leave(C - 1, slice(0, q - 1))

        def body(pools, inputs):
            per_chunk, e = inputs
            return (carry if per_chunk is None else per_chunk) @ pools + e, pools

        final, before = jax.lax.scan(body, state, (None if starts is None else carry, added))
        entering = jnp.concatenate([before, final[None]])
    carry_tail, added_tail = leave(tail - 1, slice(q - 1, q))
    A = carry_tail if starts is None else carry_tail[0]
    return Chunks(
        rows=jnp.concatenate([entering, inputs], axis=1),
        table=table,
        last=A @ final + added_tail[0],
    )


def impulse_responses(filt: Filter, length: int) -> tuple[np.ndarray, np.ndarray]:
    """What states and inputs contribute to later pools.

    **Arguments:**

    - `filt`: the pools' rates and wiring.
    - `length`: number of steps.

    **Returns:**

    Powers of shape `(length, k, k)`: the pools after step t are `powers[t]` times the pools before
    step 0. And responses of shape `(length, k)`: the pools t steps after an input of 1 into pool 1.
    """
    A, _ = transition(filt.rates, filt.wiring)
    # With gain 1 into pool 1: a chain multiplies by the later rates, a bank by a_n / a_1.
    c = np.cumprod(filt.gains) if filt.wiring == "chain" else np.array(filt.gains)
    powers = np.empty((length, *A.shape))
    response = np.empty((length, len(c)))
    power = np.eye(len(c))
    for t in range(length):
        response[t] = power @ c
        powers[t] = power = A @ power
    return powers, response


@functools.lru_cache(maxsize=64)
def _impulse_table(filt: Filter, length: int) -> np.ndarray:
    """(k, length, k + length): the pools at each step from entering pools and inputs."""
    powers, response = impulse_responses(filt, length)
    k = len(filt.rates)
    table = np.zeros((k, length, k + length))
    for t in range(length):
        table[:, t, :k] = powers[t]
        table[:, t, k : k + t + 1] = response[t::-1].T
    return table


def on_cpu() -> bool:
    """Whether programs run on the CPU, where the steps of a loop are cheap and products are not."""
    return jax.default_backend() == "cpu"
