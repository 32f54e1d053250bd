"""Pools as filters: their state-space form, impulse and frequency responses, and delays.

Section 4.1 of the paper.

A pool of rate a answers a unit impulse with a (1 - a)^t: a geometric distribution with mean
(1 - a) / a and variance (1 - a) / a^2. Pools in a chain convolve these, so that means and
variances add up along the chain.
"""

import functools
import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
import scipy  # it loads its parts on first use: signal and stats take a second
from jaxtyping import Complex, Float, Int

from longpass import _checks
from longpass._rates import MOST_POOLS, Rates

Wiring = Literal["chain", "parallel"]


def transition(
    rates: Rates, wiring: Wiring = "chain"
) -> tuple[Float[np.ndarray, "k k"], Float[np.ndarray, " k"]]:
    """(A, c) of p_t = A p_{t-1} + c h_t, over the pool axis.

    In a chain pool n takes in what pool n - 1 holds *after* this step, so A is lower triangular:
    A[n, i] = (1 - a_i) a_{i+1} ... a_n and c[n] = a_1 ... a_n.

    **Arguments:**

    - `rates`: of the pools, fastest first.
    - `wiring`: `"chain"` or `"parallel"`.

    **Returns:**

    A of shape `(k, k)` and c of shape `(k,)`.

    >>> A, c = transition((0.5, 0.25))
    >>> A.tolist(), c.tolist()
    ([[0.5, 0.0], [0.125, 0.75]], [0.5, 0.125])
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

    **Arguments:**

    - `rates`: of the pools, fastest first.
    - `length`: how many steps back.
    - `wiring`: `"chain"` or `"parallel"`.

    **Returns:**

    The weights of shape `(k, length)`, newest input first.

    >>> impulse_response((0.5, 0.25), 4).round(3).tolist()
    [[0.5, 0.25, 0.125, 0.062], [0.125, 0.156, 0.148, 0.127]]
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
    """Gain and phase of each pool at angular frequencies.

    **Arguments:**

    - `rates`: of the pools, fastest first.
    - `omega`: angular frequencies, in radians per step, 0 to pi.
    - `wiring`: `"chain"` or `"parallel"`.

    **Returns:**

    Complex gains of shape `(k, frequencies)`: gain is the absolute value, phase the angle.

    >>> abs(frequency_response((0.5, 0.25), [0.0, np.pi])).round(3).tolist()
    [[1.0, 0.333], [1.0, 0.048]]
    """
    a = np.array(_checks.rates_tuple(rates))[:, None]
    _checks.one_of("wiring", wiring, ("chain", "parallel"))
    omega = np.atleast_1d(np.asarray(omega, dtype=np.float64))
    single = a / (1.0 - (1.0 - a) * np.exp(-1j * omega))
    return np.cumprod(single, axis=0) if wiring == "chain" else single


def mean_delay(rates: Rates, wiring: Wiring = "chain") -> Float[np.ndarray, " k"]:
    """Mean age, in steps, of what each pool holds: the centre of mass of its impulse response.

    **Arguments:**

    - `rates`: of the pools, fastest first.
    - `wiring`: `"chain"` or `"parallel"`.

    **Returns:**

    The mean ages, of shape `(k,)`.

    >>> mean_delay((0.5, 0.25, 0.125)).tolist()
    [1.0, 4.0, 11.0]
    """
    a = np.array(_checks.rates_tuple(rates))
    _checks.one_of("wiring", wiring, ("chain", "parallel"))
    single = (1.0 - a) / a
    return np.cumsum(single) if wiring == "chain" else single


def spread(rates: Rates, wiring: Wiring = "chain") -> Float[np.ndarray, " k"]:
    """Standard deviation, in steps, of the age of what each pool holds: how wide its window is.

    **Arguments:**

    - `rates`: of the pools, fastest first.
    - `wiring`: `"chain"` or `"parallel"`.

    **Returns:**

    The standard deviations, of shape `(k,)`.

    >>> spread((0.5, 0.25, 0.125)).round(1).tolist()
    [1.4, 3.7, 8.4]
    """
    a = np.array(_checks.rates_tuple(rates))
    _checks.one_of("wiring", wiring, ("chain", "parallel"))
    single = (1.0 - a) / a**2
    return np.sqrt(np.cumsum(single) if wiring == "chain" else single)


def mean_lag(rates: Rates, wiring: Wiring = "chain", length: int | None = None) -> float:
    """How far back all pools together depend on inputs, on average, weighted by the Jacobian.

    The Jacobian of the pools in an input s steps ago is h_n(s) times the identity, where h_n is the
    impulse response of pool n: its norm is proportional to sqrt(sum_n h_n(s)^2). For one pool the
    mean is `mean_delay`. `longpass.memory.mean_lag` has the same for any memory, by gradients.

    **Arguments:**

    - `rates`: of the pools.
    - `wiring`: chain or parallel.
    - `length`: inputs that count. None: all, until responses have died away.

    **Returns:**

    The mean lag in steps.
    """
    if length is None:
        slowest = float(np.max(mean_delay(rates, wiring) + 30.0 * spread(rates, wiring)))
        length = math.ceil(slowest) + 1
    norms = np.sqrt(np.sum(impulse_response(rates, length, wiring) ** 2, axis=0))
    return float(np.arange(length) @ norms / norms.sum())


def peak_delay(rates: Rates, wiring: Wiring = "chain") -> Int[np.ndarray, " k"]:
    """The age, in steps, at which each pool's impulse response is largest (the earliest, if tied).

    A lone filter forgets from the first step: every peak of the bank is 0. Responses of the chain
    rise to one peak and fall, because convolutions of geometric distributions are log-concave, and

        K_n[t+1] - K_n[t] = a_n (K_{n-1}[t+1] - K_n[t]),

    so that the peak is the first t at which K_{n-1}[t+1] <= K_n[t]: found by bisection, with
    K[t] = A^t c by repeated squaring. ValueError for peaks more than 2^63 steps ago.

    **Arguments:**

    - `rates`: of the pools, fastest first.
    - `wiring`: `"chain"` or `"parallel"`.

    **Returns:**

    The ages, of shape `(k,)`.

    >>> peak_delay((0.5, 0.25, 0.125)).tolist()
    [0, 1, 5]
    """
    a = _checks.rates_tuple(rates)
    _checks.one_of("wiring", wiring, ("chain", "parallel"))
    peaks = np.zeros(len(a), dtype=np.int64)
    if wiring == "parallel":
        return peaks
    A, c = transition(a)
    decays = np.log1p(-np.minimum(a, 1.0 - np.finfo(float).eps))
    # Mode and mean of a log-concave distribution are within sqrt(3) deviations of each other.
    bounds = np.ceil(mean_delay(a) + 2.0 * spread(a)) + 1.0
    if bounds[-1] >= 2.0**63:
        far = int(np.argmax(bounds >= 2.0**63))
        raise ValueError(
            f"rates[{far}] is {a[far]!r}: peaks are known for at most {far} of these pools, those "
            f"of slower ones may be more than 2^63 steps ago"
        )
    squares = [A]
    while 2 ** len(squares) <= bounds[-1] + 1:
        square = squares[-1] @ squares[-1]
        # Rounding would double with every square. Without it on the diagonal it hardly grows.
        np.fill_diagonal(square, np.exp(2.0 ** len(squares) * decays))
        squares.append(square)

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
            # Long before its peak, what reaches a slow pool is too small to be told from 0.
            if 0.0 < response(middle)[n] >= response(middle + 1)[n - 1]:
                high = middle
            else:
                low = middle + 1
        peaks[n] = low
    return peaks


def pools_for(horizon: float | int, base: float, wiring: Wiring = "chain") -> int:
    """The fewest pools of rates base^-n whose last one reaches back `horizon` steps on average.

    The mean delay of pool n of a chain is the sum of base^i - 1 over i <= n; that of a parallel
    pool is base^n - 1.

    **Arguments:**

    - `horizon`: in steps.
    - `base`: rates are base^-1, base^-2, ...
    - `wiring`: `"chain"` or `"parallel"`.

    **Returns:**

    The number of pools.

    >>> pools_for(280.0, 2.0), pools_for(280.0, 2.0, "parallel")
    (8, 9)
    """
    horizon = _checks.real("horizon", horizon, least=0.0)
    base = _checks.real("base", base, above=1.0)
    _checks.one_of("wiring", wiring, ("chain", "parallel"))
    pools, reach = 1, base - 1.0
    while reach < horizon:
        if pools == MOST_POOLS:
            raise ValueError(
                f"horizon is {horizon:g}: {MOST_POOLS} pools of base {base:g} reach only "
                f"{reach:g} steps back: it must be at most that, or base must be larger"
            )
        pools += 1
        try:
            delay = math.pow(base, pools) - 1.0
        except OverflowError:
            delay = math.inf
        reach = delay if wiring == "parallel" else reach + delay
    return pools
