"""Pools against SciPy's filters, and every form of the linear pools against the recursion."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.signal

from longpass.memory import Filter, PoolBank, PoolChain, rates
from longpass.memory._filters import chunk_form, scan_form


@pytest.mark.parametrize("base", [1.5, 2.0])
@pytest.mark.parametrize("kind", [PoolChain, PoolBank])
@pytest.mark.parametrize("with_starts", [False, True], ids=["one sequence", "starts inside"])
def test_pools_are_scipys_filters_over_10_000_steps(kind, base, with_starts):
    """lfilter with an initial state, one filter after the other (or side by side)."""
    a = rates(base, 12)
    generator = np.random.default_rng(0)
    xs = generator.normal(size=(10_000, 2))
    entering = generator.normal(size=(12, 2))
    memory = kind(2, a)
    starts = np.zeros(10_000, bool)
    starts[[3, 4, 2_500, 7_001]] = with_starts
    given = jnp.asarray(starts) if with_starts else None
    last, ys = jax.jit(memory.unroll)(jnp.asarray(entering), jnp.asarray(xs), given)

    edges = [0, *np.flatnonzero(starts), 10_000]
    for begin, end in itertools.pairwise(edges):
        old = entering if begin == 0 else np.zeros_like(entering)
        signal = xs[begin:end]
        for n, rate in enumerate(a):
            source = signal if kind is PoolChain else xs[begin:end]
            # lfilter's state is what the old output adds to the next one.
            held = (1 - rate) * old[n][None]
            signal, _ = scipy.signal.lfilter([rate], [1, rate - 1], source, axis=0, zi=held)
            np.testing.assert_allclose(ys[begin:end, n], signal, atol=1e-10, rtol=0)
    np.testing.assert_array_equal(last, ys[-1])


@pytest.mark.parametrize("wiring", ["chain", "parallel"])
@pytest.mark.parametrize(
    ("length", "chunk"),
    # Chunks of one step, whole ones, a rest, and a chunk that is longer than the sequence.
    [(1, 1), (1, 8), (7, 1), (7, 8), (64, 8), (64, 32), (101, 32), (101, 200)],
)
def test_chunks_are_the_scan(wiring, length, chunk):
    filt = Filter(rates(1.8, 5), wiring)
    keys = jax.random.split(jax.random.key(0), 3)
    state = jax.random.normal(keys[0], (5, 3))
    drive = jax.random.normal(keys[1], (length, 3))
    for starts in (None, jax.random.bernoulli(keys[2], 0.2, (length,))):
        expected = jax.jit(functools.partial(scan_form, filt))(state, drive, starts)
        ours = jax.jit(functools.partial(chunk_form, filt, chunk=chunk))(state, drive, starts)
        np.testing.assert_allclose(ours, expected, atol=1e-13)


def test_contents_of_earlier_sequences_do_not_blur_later_ones():
    """A start must clear, not cancel: a loud past leaves no rounding error behind."""
    memory = PoolChain(1, rates(2.0, 8), dtype=jnp.float32)
    quiet = jnp.full((20, 1), 1e-6, jnp.float32)
    loud = jnp.full((20, 1), 1e6, jnp.float32)
    starts = jnp.zeros(40, bool).at[20].set(True)
    _, packed = memory.unroll(memory.initial_state(), jnp.concatenate([loud, quiet]), starts)
    _, alone = memory.unroll(memory.initial_state(), quiet)
    np.testing.assert_allclose(packed[20:], alone, rtol=1e-5)
    chunks = chunk_form(
        memory.filter, memory.initial_state(), 0.5 * jnp.concatenate([loud, quiet]), starts
    )
    np.testing.assert_allclose(jnp.stack(chunks, axis=1)[20:], alone, rtol=1e-5)


def test_a_rate_of_one_is_a_delayless_copy():
    memory = PoolChain(2, [1.0, 1.0])
    xs = jnp.arange(6.0).reshape(3, 2)
    _, ys = memory.unroll(memory.initial_state(), xs)
    np.testing.assert_array_equal(ys, jnp.stack([xs, xs], axis=1))
