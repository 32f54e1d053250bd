"""Pools as filters: their state-space form, impulse and frequency responses, and delays.

A pool of rate a answers a unit impulse with a (1 - a)^t: a geometric distribution with mean
(1 - a) / a and variance (1 - a) / a^2. Pools in a chain convolve these, so that means and
variances add up along the chain.
"""

import functools
import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
import scipy.signal
from jaxtyping import Complex, Float, Int

from longpass import _checks
from longpass._rates import Rates

Wiring = Literal["chain", "parallel"]


def transition(
    rates: Rates, wiring: Wiring = "chain"
) -> tuple[Float[np.ndarray, "k k"], Float[np.ndarray, " k"]]:
    """(A, c) of p_t = A p_{t-1} + c h_t, over the pool axis.

    In a chain pool n takes in what pool n - 1 holds *after* this step, so A is lower triangular:
    A[n, i] = (1 - a_i) a_{i+1} ... a_n and c[n] = a_1 ... a_n.
    """
    a = np.array(_checks.rates_tuple(rates))
    _checks.one_of("wiring", wiring, ("chain", "parallel"))
    if wiring == "parallel":
        return np.diag(1.0 - a), a
    k = a.size
    A = np.zeros((k, k))
    for i in range(k):
        A[i:, i] = (1.0 - a[i]) * np.cumprod(np.concatenate([[1.0], a[i + 1 :]]))
    return A, np.cumprod(a)


def impulse_response(
    rates: Rates, length: int, wiring: Wiring = "chain"
) -> Float[np.ndarray, "k length"]:
    """What an input of 1, t steps ago, adds to each pool now.

    Computed by filtering, not by partial fractions: the recursion adds positive terms only and
    keeps full relative accuracy, also where rates are close or equal.
    """
    a = _checks.rates_tuple(rates)
    length = _checks.positive_int("length", length)
    _checks.one_of("wiring", wiring, ("chain", "parallel"))
    impulse = np.zeros(length)
    impulse[0] = 1.0
    signal, responses = impulse, []
    for rate in a:
        source = signal if wiring == "chain" else impulse
        signal = scipy.signal.lfilter([rate], [1.0, rate - 1.0], source)
        responses.append(signal)
    return np.stack(responses)


def frequency_response(
    rates: Rates, omega: Sequence[float] | np.ndarray, wiring: Wiring = "chain"
) -> Complex[np.ndarray, "k frequencies"]:
    """Gain and phase of each pool at angular frequencies `omega` (radians per step, 0 to pi)."""
    a = np.array(_checks.rates_tuple(rates))[:, None]
    _checks.one_of("wiring", wiring, ("chain", "parallel"))
    omega = np.atleast_1d(np.asarray(omega, dtype=np.float64))
    single = a / (1.0 - (1.0 - a) * np.exp(-1j * omega))
    return np.cumprod(single, axis=0) if wiring == "chain" else single


def mean_delay(rates: Rates, wiring: Wiring = "chain") -> Float[np.ndarray, " k"]:
    """Mean age, in steps, of what each pool holds: the centre of mass of its impulse response."""
    a = np.array(_checks.rates_tuple(rates))
    _checks.one_of("wiring", wiring, ("chain", "parallel"))
    single = (1.0 - a) / a
    return np.cumsum(single) if wiring == "chain" else single


def spread(rates: Rates, wiring: Wiring = "chain") -> Float[np.ndarray, " k"]:
    """Standard deviation, in steps, of the age of what each pool holds: how wide its window is."""
    a = np.array(_checks.rates_tuple(rates))
    _checks.one_of("wiring", wiring, ("chain", "parallel"))
    single = (1.0 - a) / a**2
    return np.sqrt(np.cumsum(single) if wiring == "chain" else single)


def peak_delay(rates: Rates, wiring: Wiring = "chain") -> Int[np.ndarray, " k"]:
    """The age, in steps, at which each pool's impulse response is largest (the earliest, if tied).

    A lone filter forgets from the first step: every peak of the bank is 0. Responses of the chain
    rise to one peak and fall, because convolutions of geometric distributions are log-concave, and

        K_n[t+1] - K_n[t] = a_n (K_{n-1}[t+1] - K_n[t]),

    so that the peak is the first t at which K_{n-1}[t+1] <= K_n[t]: found by bisection, with
    K[t] = A^t c by repeated squaring, at any horizon.
    """
    a = _checks.rates_tuple(rates)
    _checks.one_of("wiring", wiring, ("chain", "parallel"))
    peaks = np.zeros(len(a), dtype=np.int64)
    if wiring == "parallel":
        return peaks
    A, c = transition(a)
    # Mode and mean of a log-concave distribution are within sqrt(3) deviations of each other.
    bounds = np.ceil(mean_delay(a) + 2.0 * spread(a)).astype(np.int64) + 1
    squares = [A]
    while 2 ** len(squares) <= bounds[-1] + 1:
        squares.append(squares[-1] @ squares[-1])

    @functools.cache
    def response(t: int) -> np.ndarray:
        out = c
        for bit, power in enumerate(squares):
            if t >> bit & 1:
                out = power @ out
        return out

    for n in range(1, len(a)):
        low, high = 0, int(bounds[n])
        while low < high:
            middle = (low + high) // 2
            if response(middle + 1)[n - 1] <= response(middle)[n]:
                high = middle
            else:
                low = middle + 1
        peaks[n] = low
    return peaks


def pools_for(horizon: float | int, base: float, wiring: Wiring = "chain") -> int:
    """The fewest pools of rates base^-n whose last one reaches back `horizon` steps on average.

    The mean delay of pool n of a chain is the sum of base^i - 1 over i <= n; that of a parallel
    pool is base^n - 1.

    >>> pools_for(280.0, 2.0), pools_for(280.0, 2.0, "parallel")
    (8, 9)
    """
    horizon = _checks.real("horizon", horizon, least=0.0)
    base = _checks.real("base", base, above=1.0)
    _checks.one_of("wiring", wiring, ("chain", "parallel"))
    pools, reach = 1, base - 1.0
    while reach < horizon:
        pools += 1
        delay = math.pow(base, pools) - 1.0
        reach = delay if wiring == "parallel" else reach + delay
    return pools
