"""Reading pools that pass no gradient, without storing them for the backward pass.

Only the viewports learn here: their gradient needs the pools, but no gradient flows into the
pools. So pools need not be kept, and memory use does not grow with their number times time times
size. Three exact forms:

- `read_by_chunks`: viewports and filters are both linear, so they commute. Inputs pass the
  viewports first (size -> viewport_size) and the impulse table afterwards. The pools themselves
  are computed only where chunks meet. Not for normalised pools, which are not linear.
- `read_at_once`: pools are computed by recursion and kept.
- `read_in_stretches`: pools are computed for one stretch of time after the other; the backward
  pass computes them again from the pools at the beginning of the stretch.
"""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from longpass.memory._filters import Filter, on_cpu, scan_form, split_into_chunks
from longpass.memory._reader import Reader
from longpass.memory._types import Starts

# Limits in numbers of one sequence's frozen pools over all steps, measured with 8 to 32 sequences
# (the table in ARCHITECTURE.md).
AT_ONCE = 120_000  # up to this size all pools are kept for the backward pass
HELD = 50_000  # above it, stretches of this size, which stay in the caches
LONG = 1024  # steps times pools: above this, `read_by_chunks` is faster on a CPU

Views = list[Float[Array, "time _"]]
# A form computes (pools after the last step, views) from a reader, the number of the first frozen
# pool (from 0), its filter, the state, the drive and starts.
ReadForm = Callable[[Reader, int, Filter, Array, Array, Starts], tuple[Array, Views]]


def read_frozen(
    reader: Reader,
    first: int,
    filt: Filter,
    state: Float[Array, "frozen size"],
    drive: Float[Array, "time size"],
    starts: Starts,
    form: ReadForm | None = None,
) -> tuple[Float[Array, "frozen size"], Views]:
    """Read the frozen pools: the reader learns, and no gradient passes into `state` or `drive`.

    **Arguments:**

    - `reader`: its viewports `first` and after look at the pools.
    - `first`: the number of the first frozen pool, from 0.
    - `filt`: the rates and wiring of the frozen pools.
    - `state`: the frozen pools before the first step.
    - `drive`: what enters the first frozen pool at each step.
    - `starts`: where the state is cleared, or None.
    - `form`: how to compute it; None: the fastest for this shape on this platform.

    **Returns:**

    The frozen pools after the last step, and what the viewports make of them.
    """
    state, drive = jax.lax.stop_gradient((state, drive))
    if drive.shape[0] == 0:
        return state, [reader.view(first + n, drive) for n in range(len(filt.rates))]
    form = form or fastest_read_form(reader, state.shape, drive.shape[0], starts is not None)
    return form(reader, first, filt, state, drive, starts)


def fastest_read_form(
    reader: Reader, shape: tuple[int, ...], length: int, with_starts: bool
) -> ReadForm:
    """The fastest form for `length` steps of frozen pools of this shape on this platform."""
    count, size = shape
    long = not with_starts and length * count > LONG
    if reader.normalise is None and (long or not on_cpu()):
        return read_by_chunks
    if length * count * size <= AT_ONCE:
        return read_at_once
    return functools.partial(read_in_stretches, steps=max(16, HELD // (count * size)))


def read_by_chunks(reader: Reader, first: int, filt: Filter, state, drive, starts):
    """Viewports first, then the impulse table. Only for pools that are not normalised."""
    chunks = split_into_chunks(filt, state, drive, starts)
    axes = chunks.table_axes.replace("n", "")
    views = []
    for n in range(len(filt.rates)):
        rows = reader.view(first + n, chunks.rows)  # (q, k + C, viewport)
        view = jnp.einsum(f"{axes},qrv->qtv", chunks.table[..., n, :, :], rows)
        views.append(view.reshape(-1, view.shape[-1])[: drive.shape[0]])
    return chunks.last, views


def read_at_once(reader: Reader, first: int, filt: Filter, state, drive, starts):
    """Pools by recursion, all kept for the backward pass."""
    state, views = _read(reader, first, filt, state, (drive, starts))
    return state, [views]


def read_in_stretches(
    reader: Reader, first: int, filt: Filter, state, drive, starts, *, steps: int
):
    """Pools by recursion, in stretches of at most `steps` steps, computed again when needed."""
    length = drive.shape[0]
    count = -(-length // steps)
    whole = length // count * count

    def read(state, inputs):
        return _read(reader, first, filt, state, inputs)

    def stretches(array):
        return None if array is None else array[:whole].reshape(count, -1, *array.shape[1:])

    again = jax.checkpoint(read, prevent_cse=False)
    state, views = jax.lax.scan(again, state, (stretches(drive), stretches(starts)))
    views = views.reshape(whole, -1)
    if whole < length:
        rest = (drive[whole:], None if starts is None else starts[whole:])
        state, more = read(state, rest)
        views = jnp.concatenate([views, more])
    return state, [views]


def _read(reader: Reader, first: int, filt: Filter, state, inputs):
    """(Pools after the last step, all views side by side) of one stretch of time."""
    pools = scan_form(filt, state, *inputs)
    views = [reader.view(first + n, pool) for n, pool in enumerate(pools)]
    return jnp.stack([pool[-1] for pool in pools]), jnp.concatenate(views, axis=-1)
