"""Pools against SciPy's filters, and every form of the linear pools against the recursion."""

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
    last, ys = jax.device_get(jax.jit(memory.unroll)(entering, xs, given))

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
    rng = np.random.default_rng(0)
    state, drive = rng.standard_normal((5, 3)), rng.standard_normal((length, 3))
    for starts in (None, rng.random(length) < 0.2):

        @jax.jit
        def both(state, drive, starts):
            expected = scan_form(filt, state, drive, starts)
            return chunk_form(filt, state, drive, starts, chunk=chunk), expected

        ours, expected = both(state, drive, starts)
        np.testing.assert_allclose(ours, expected, atol=1e-13)


def test_contents_of_earlier_sequences_do_not_blur_later_ones():
    """A start must clear, not cancel: a loud past leaves no rounding error behind."""
    memory = PoolChain(1, rates(2.0, 8), dtype=jnp.float32)
    quiet = np.full((20, 1), 1e-6, np.float32)
    both = np.concatenate([np.full((20, 1), 1e6, np.float32), quiet])
    starts = np.arange(40) == 20

    @jax.jit
    def run(quiet, both):
        first = memory.initial_state()
        _, alone = memory.unroll(first, quiet)
        _, packed = memory.unroll(first, both, starts)
        chunks = chunk_form(memory.filter, first, 0.5 * both, starts)
        return alone, packed[20:], jnp.stack(chunks, axis=1)[20:]

    alone, packed, chunks = run(quiet, both)
    np.testing.assert_allclose(packed, alone, rtol=1e-5)
    np.testing.assert_allclose(chunks, alone, rtol=1e-5)


def test_a_rate_of_one_is_a_delayless_copy():
    memory = PoolChain(2, [1.0, 1.0])
    xs = jnp.arange(6.0).reshape(3, 2)
    _, ys = memory.unroll(memory.initial_state(), xs)
    np.testing.assert_array_equal(ys, jnp.stack([xs, xs], axis=1))
