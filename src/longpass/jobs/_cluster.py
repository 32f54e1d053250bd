"""Joining a Ray cluster, or starting one."""

import contextlib
import logging
import os
import secrets
import sys
from collections.abc import Iterator
from types import ModuleType

from longpass.jobs._cores import available_cores


@contextlib.contextmanager
def ray_cluster(address: str | None, cpus: int | None = None) -> Iterator[ModuleType]:
    """Connect this process to a Ray cluster for as long as the context lasts.

    Enter it before JAX is used: starting Ray forks, which JAX's threads may not survive. If this
    process is connected already, that connection is used, and stays.

    **Arguments:**

    - `address`: of the cluster, "auto" for the one that runs on this machine; None: start one here
      that ends with the context.
    - `cpus`: of a cluster that is started here; by default one per core.

    **Returns:** a context manager that gives the module `ray`.
    """
    if address is None:
        _protect_cluster()
    ray = _import_ray()
    if ray.is_initialized():
        yield ray
        return
    # Ray prints a worker's death on standard output, where --json prints, even with log_to_driver
    # off. There is no public switch for that; this one is used by Ray's debugger.
    ray._private.worker._worker_logs_enabled = False
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address is None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        # By default Ray's workers have a niceness of 15. Those of the local engine have 0.
        os.environ.setdefault("RAY_worker_niceness", "0")
        cpus = cpus or len(available_cores())
        try:
            ray.init("local", num_cpus=cpus, include_dashboard=False, **quiet)
        except Exception as error:
            # Ray raises errors of no kind of their own, such as on a machine that is too busy.
            raise OSError(
                f"Ray did not start here ({error}): try again, or use the engine 'local'"
            ) from error
    else:
        try:
            ray.init(address, **quiet)
        except (ConnectionError, ValueError) as error:
            raise ValueError(
                f"address is {address!r}: it must be that of a Ray cluster ({error}). Start one "
                f"with `ray start --head`, set RAY_AUTH_MODE=token if it asks for a token, or "
                f"leave --address out"
            ) from None
    try:
        yield ray
    finally:
        ray.shutdown()


def _protect_cluster() -> None:
    """Let a cluster that is started here ask for a token and listen on loopback only.

    Ray reads these variables when it is imported.
    """
    # Ray listens on loopback where it does not support clusters of several machines.
    os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    # Without a token here, Ray would write one to the home folder.
    os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    # If Ray was imported without a mode, it asks for the token by itself (from 2.60 on). Setting
    # the mode now would reach the processes that it starts, but not this one.
    if "ray" not in sys.modules:
        os.environ.setdefault("RAY_AUTH_MODE", "token")


def _import_ray() -> ModuleType:
    """The module `ray`; ValueError if it is not installed."""
    # Ray warns about this variable once per process; we ask for no accelerator.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError:
        raise ValueError("engine is 'ray': it needs pip install 'longpass[ray]'") from None
    return ray
