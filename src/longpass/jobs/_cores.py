"""The cores of this machine."""

import os


def available_cores() -> list[int]:
    """The numbers of the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))
