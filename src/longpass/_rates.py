"""The paper's rates: powers of one base, which tile the past evenly on a logarithmic scale."""

from collections.abc import Sequence

import numpy as np

from longpass import _checks

# Rates of pools, fastest first, each in (0, 1].
Rates = Sequence[float] | np.ndarray


def rates(base: float, pools: int) -> tuple[float, ...]:
    """Rates a_n = base^-n of `pools` pools, fastest first.

    A rate is the share of a pool's contents that one step replaces.

    >>> rates(2.0, 3)
    (0.5, 0.25, 0.125)
    """
    base = _checks.real("base", base, above=1.0)
    pools = _checks.positive_int("pools", pools)
    return tuple(base**-n for n in range(1, pools + 1))
