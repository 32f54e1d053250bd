"""The paper's rates: powers of one base, which tile the past evenly on a logarithmic scale."""

import math
import sys
from collections.abc import Sequence

import numpy as np

from longpass import _checks

MOST_POOLS = 1000
"""The largest number of pools."""

# Rates of pools, fastest first, each in (0, 1].
Rates = Sequence[float] | np.ndarray


def rates(base: float, pools: int) -> tuple[float, ...]:
    """Rates a_n = base^-n of `pools` pools, fastest first.

    A rate is the share of a pool's contents that one step replaces.

    **Arguments:**

    - `base`: above 1.
    - `pools`: how many.

    **Returns:**

    The rates.

    >>> rates(2.0, 3)
    (0.5, 0.25, 0.125)
    """
    base = _checks.real("base", base, above=1.0)
    pools = _checks.int_within("pools", pools, 1, MOST_POOLS)
    slowest = base**-pools
    if slowest < sys.float_info.min:
        most = int(-math.log(sys.float_info.min) / math.log(base))
        right = f"it must be at most {most} with base {base:g}" if most else "base must be smaller"
        raise ValueError(f"pools is {pools}: {right}, because slower rates are 0 in floating point")
    return tuple(base**-n for n in range(1, pools + 1))
