"""Responses and delays against brute force, SciPy and each other."""

from typing import Any, cast

import numpy as np
import pytest
import scipy.signal
from hypothesis import given
from hypothesis import strategies as st

from longpass import theory
from longpass.memory import rates
from tests.helpers import wrong

RATES = (rates(2.0, 8), rates(1.5, 12), (0.3, 1.0, 0.3, 0.02))
both = pytest.mark.parametrize("wiring", ["chain", "parallel"])
each = pytest.mark.parametrize("a", RATES, ids=["base 2", "base 1.5", "odd"])
some_rates = st.lists(st.floats(0.02, 1.0), min_size=1, max_size=6)


def simulate(a, inputs, wiring):
    """Pools at every step, by the paper's formula, one number after the other."""
    pools, out = np.zeros(len(a)), []
    for x in inputs:
        below = x
        for n, rate in enumerate(a):
            pools[n] = rate * below + (1 - rate) * pools[n]
            below = pools[n] if wiring == "chain" else x
        out.append(pools.copy())
    return np.array(out).T


@both
@given(a=some_rates)
def test_impulse_response_is_what_an_impulse_leaves(wiring, a):
    impulse = np.eye(1, 60)[0]
    np.testing.assert_allclose(
        theory.impulse_response(a, 60, wiring),
        simulate(a, impulse, wiring),
        rtol=1e-12,
        atol=1e-300,
    )


@pytest.mark.parametrize("base", [1.5, 2.0])
def test_impulse_response_is_its_partial_fractions(base):
    """K_n[t] = c_n sum_i w_ni (1 - a_i)^(t+n-1), exact but for cancellation."""
    a = np.array(rates(base, 12))
    ours = theory.impulse_response(a, 2000)
    t = np.arange(2000)
    for n in range(1, 13):
        poles = 1 - a[:n]
        gaps = poles[:, None] - poles + np.eye(n)
        weights = 1.0 / np.prod(gaps, axis=1)
        sums = np.sum(weights[:, None] * poles[:, None] ** (t + n - 1), axis=0)
        closed = np.prod(a[:n]) * sums
        np.testing.assert_allclose(ours[n - 1], closed, atol=2e-12 * ours[n - 1].max())


@both
@given(a=some_rates)
def test_transition_gives_the_next_pools(wiring, a):
    A, c = theory.transition(a, wiring)
    inputs = np.cos(np.arange(20.0))
    pools = simulate(a, inputs, wiring)
    np.testing.assert_allclose(
        A @ pools[:, :-1] + np.outer(c, inputs[1:]), pools[:, 1:], atol=1e-14
    )


@both
@each
def test_frequency_response_is_scipys(wiring, a):
    omega = np.linspace(0, np.pi, 50)
    ours = theory.frequency_response(a, omega, wiring)
    for n in range(len(a)):
        poles = 1 - np.array(a[: n + 1] if wiring == "chain" else a[n : n + 1])
        zeros = np.zeros(len(poles))
        gain = np.prod(1 - poles)
        _, expected = scipy.signal.freqz_zpk(zeros, poles, gain, worN=cast(Any, omega))
        np.testing.assert_allclose(ours[n], expected, rtol=1e-12)
    np.testing.assert_allclose(ours[:, 0], 1.0)


@both
@each
def test_delays_are_moments_of_the_impulse_response(wiring, a):
    reach = theory.mean_delay(a, wiring).max() + 60 * theory.spread(a, wiring).max()
    response = theory.impulse_response(a, int(reach) + 10, wiring)
    t = np.arange(response.shape[1])
    np.testing.assert_allclose(response.sum(axis=1), 1.0, rtol=1e-9)
    mean = response @ t
    np.testing.assert_allclose(theory.mean_delay(a, wiring), mean, rtol=1e-9, atol=1e-12)
    deviation = np.sqrt(response @ t**2 - mean**2)
    np.testing.assert_allclose(theory.spread(a, wiring), deviation, rtol=1e-6, atol=1e-7)


@both
@given(a=some_rates)
def test_peak_is_the_largest_response(wiring, a):
    """A tie that rounding decides either way may be off by the flat top's width."""
    response = theory.impulse_response(a, 4000, wiring)
    for pool, peak in zip(response, theory.peak_delay(a, wiring), strict=True):
        assert pool[peak] >= pool.max() * (1 - 1e-12)


def test_known_delays_of_the_paper():
    reach = {(1.5, 12): 374, (1.8, 8): 238, (2.0, 8): 502, (1.8, 12): 2589}
    for (base, pools), delay in reach.items():
        assert round(theory.mean_delay(rates(base, pools))[-1]) == delay
    # Far beyond what can be listed: pool 30 of base 3 peaks after some 10^14 steps.
    far = theory.peak_delay(rates(3.0, 30))
    assert 0.4 < far[-1] / theory.mean_delay(rates(3.0, 30))[-1] < 0.9


@pytest.mark.parametrize(("base", "pools"), [(2.0, 60), (1.5, 100), (3.0, 38)])
def test_peaks_of_slow_pools_grow_by_the_base(base, pools):
    """Slow pools are copies of each other on a longer scale. Without care, products of rates become
    0 in floating point, and rounding grows with every square."""
    peaks = theory.peak_delay(rates(base, pools)).astype(float)
    np.testing.assert_allclose(peaks[31:] / peaks[30:-1], base, rtol=1e-4)
    np.testing.assert_allclose(peaks[-1] / peaks[-2], base, rtol=1e-12)
    with pytest.raises(ValueError, match=r"peaks are known for at most \d+ of these pools"):
        theory.peak_delay(rates(base, pools + 10))


@given(horizon=st.floats(0, 1e6), base=st.floats(1.05, 5.0))
def test_pools_for_are_the_fewest_that_reach(horizon, base):
    pools = theory.pools_for(horizon, base)
    assert theory.mean_delay(rates(base, pools))[-1] >= horizon * (1 - 1e-9)
    if pools > 1:
        assert theory.mean_delay(rates(base, pools - 1))[-1] < horizon * (1 + 1e-9)


def test_pools_may_reach_further_than_any_number():
    assert theory.pools_for(1e308, 2.0**63) == 17


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rates(1.0, 4), "base is 1.0: it must be finite and above 1"),
        (lambda: rates(2.0, 0), "pools is 0: it must be 1 to 1000"),
        (lambda: theory.impulse_response([0.5], 0), "length is 0: it must be at least 1"),
        (lambda: theory.mean_delay([0.5, 0.0]), r"rates\[1\] is .*0.0.*: it must be in \(0, 1\]"),
        (lambda: theory.spread([]), "at least one number"),
        (
            lambda: theory.spread([0.5], wrong("ring")),
            "wiring is 'ring': it must be one of 'chain'",
        ),
        (lambda: theory.pools_for(-1, 2.0), "horizon is -1.0: it must be finite and at least 0"),
        (lambda: theory.pools_for(1e300, 1.0000001), "horizon is 1e[+]300: 1000 pools of base 1"),
        (lambda: rates(2.0, 2**31 - 1), "pools is 2147483647: it must be 1 to 1000"),
        (lambda: rates(1e200, 2), "pools is 2: it must be at most 1 with base 1e[+]200"),
        (lambda: theory.reconstruct(np.ones(3), [0.5], 9), "first axis must be the 1 pools"),
        (lambda: theory.memory_capacity([0.5], 9, noise=-1.0), "noise is -1.0"),
    ],
)
def test_bad_input_is_named(call, message, unchecked_types):
    with pytest.raises(ValueError, match=message):
        call()
