"""Reading pools that pass no gradient, without ever keeping them.

All that learns here is the viewport: its gradient needs what it saw, but nothing flows on into
the pools. So pools are not stored for the backward pass; memory does not grow with their number
times time times size. Two exact forms:

- by chunks: viewports and filters are both linear, so they commute. Inputs pass the viewports
  first (size -> viewport_size) and the impulse table after. Pools are known only where chunks
  meet.
- by scan: pools are computed for a stretch of time and seen at once; the backward pass computes
  them again from the pools at the stretch's beginning.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from longpass.memory._linear import Filter, cut, on_cpu, scan_form
from longpass.memory._reader import Reader

# Numbers in the frozen pools of one stream, over all steps; measured with 8 to 32 streams (the
# table in ARCHITECTURE.md).
AT_ONCE = 100_000  # up to here a scan keeps all pools for the backward pass
HELD = 25_000  # beyond, it keeps what stays in caches, and computes pools again
LONG = 1024  # steps times pools: from here on, filtering views is cheaper than viewing pools

Views = list[Float[Array, "time _"]]


def read_frozen(
    reader: Reader,
    first: int,
    filt: Filter,
    state: Float[Array, "frozen size"],
    drive: Float[Array, "time size"],
    starts,
) -> tuple[Float[Array, "frozen size"], Views]:
    """(Pools after the last step, views) of frozen pools, number `first` (from 0) and on.

    No gradient passes into `state` or `drive`; the reader's does.
    """
    state, drive = jax.lax.stop_gradient((state, drive))
    if drive.shape[0] == 0:
        return state, [reader.view(first + n, drive) for n in range(len(filt.rates))]
    long = starts is None and drive.shape[0] * len(filt.rates) > LONG
    if reader.normalise == "none" and (long or not on_cpu()):
        return read_by_chunks(reader, first, filt, state, drive, starts)
    return read_by_scan(reader, first, filt, state, drive, starts)


def read_by_chunks(reader: Reader, first: int, filt, state, drive, starts):
    """Viewports first, impulse table after. Only for views that are linear."""
    chunks = cut(filt, state, drive, starts)
    axes = chunks.table_axes.replace("n", "")
    views = []
    for n in range(len(filt.rates)):
        rows = reader.view(first + n, chunks.rows)  # (q, k + C, viewport)
        view = jnp.einsum(f"{axes},qrv->qtv", chunks.table[..., n, :, :], rows)
        views.append(view.reshape(-1, view.shape[-1])[: drive.shape[0]])
    return chunks.last, views


def read_by_scan(reader: Reader, first: int, filt, state, drive, starts):
    """Pools by recursion, seen at once, or stretch by stretch where they are many."""
    length = drive.shape[0]

    def see(state, inputs):
        pools = scan_form(filt, state, *inputs)
        views = [reader.view(first + n, pool) for n, pool in enumerate(pools)]
        return jnp.stack([pool[-1] for pool in pools]), jnp.concatenate(views, axis=-1)

    if length * state.size <= AT_ONCE:
        state, views = see(state, (drive, starts))
        return state, [views]
    count = -(-length // max(16, HELD // state.size))
    whole = length // count * count

    def stretches(array):
        return None if array is None else array[:whole].reshape(count, -1, *array.shape[1:])

    again = jax.checkpoint(see, prevent_cse=False)
    state, views = jax.lax.scan(again, state, (stretches(drive), stretches(starts)))
    views = views.reshape(whole, -1)
    if whole < length:
        rest = (drive[whole:], None if starts is None else starts[whole:])
        state, more = see(state, rest)
        views = jnp.concatenate([views, more])
    return state, [views]
