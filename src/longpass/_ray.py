"""Joining a Ray cluster, or starting one for as long as it is needed."""

import contextlib
import logging
import os
import secrets
from collections.abc import Iterator
from typing import Any


def need_ray() -> Any:
    """The module `ray`; ValueError where it is not installed."""
    # It warns of this once a process; we ask for no accelerator.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError:
        raise ValueError("engine is 'ray': it needs pip install 'longpass[ray]'") from None
    return ray


@contextlib.contextmanager
def cluster(address: str | None, cpus: int | None) -> Iterator[Any]:
    """The module `ray`, connected.

    To the cluster at `address` ("auto": the one that runs on this machine); without one, to a
    cluster of `cpus` processes (by default one a core) on this machine that ends with the context.
    Where this process is connected already, that is taken, and stays. Enter it before JAX is used:
    starting Ray forks, which JAX's threads may not survive.
    """
    ray = need_ray()
    if ray.is_initialized():
        yield ray
        return
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    # What a raylet says of a worker's death goes to standard output, where --json prints. The
    # engines tell of it themselves. This switch is the one that Ray's debugger uses.
    ray._private.worker._worker_logs_enabled = False
    if address is None:
        # Ray guards a cluster by a token. This one's is made here, and not left in the home folder.
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        # Ray's workers give way to all other processes (a niceness of 15); those of the local
        # engine do not.
        os.environ.setdefault("RAY_worker_niceness", "0")
        ray.init("local", num_cpus=cpus or cores(), include_dashboard=False, **quiet)
    else:
        try:
            ray.init(address, **quiet)
        except (ConnectionError, ValueError) as error:
            raise ValueError(
                f"address is {address!r}, where no Ray cluster answers ({error}): start one with "
                f"`ray start --head`, set RAY_AUTH_MODE=token if it asks for one, or leave "
                f"--address out"
            ) from None
    try:
        yield ray
    finally:
        ray.shutdown()


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
