"""Engines by name."""

import contextlib
from collections.abc import Iterator
from typing import get_args

from longpass import _checks
from longpass.jobs._job import Engine, EngineName, Payload, Result, Work
from longpass.jobs._local import LocalEngine
from longpass.jobs._ray import RayEngine


@contextlib.contextmanager
def make_engine(
    name: EngineName,
    work: Work[Payload, Result],
    workers: int | None = None,
    address: str | None = None,
) -> Iterator[Engine[Payload, Result]]:
    """Make an engine for as long as the context lasts.

    **Arguments:**

    - `name`: "local" or "ray".
    - `work`: the work function.
    - `workers`: how many jobs run at a time; by default one per core (of the cluster).
    - `address`: for "ray", as in `RayEngine`.

    **Returns:** a context manager that gives the engine.
    """
    _checks.one_of("engine", name, get_args(EngineName))
    if name == "local":
        if address is not None:
            raise ValueError(f"address is {address!r}: it must be left out for the engine 'local'")
        yield LocalEngine(work, workers)
    else:
        with RayEngine(work, workers, address) as engine:
            yield engine
