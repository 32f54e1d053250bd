"""The cores of this machine."""

import os

MOST_WORKERS = 1000
"""The largest number of workers of an engine."""


def available_cores() -> list[int]:
    """The numbers of the cores that this process may use.

    **Returns:**

    Their numbers.
    """
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))
