"""Which engine carries jobs out, by name."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, get_args

from longpass import _checks
from longpass._names import EngineName
from longpass.jobs._local import LocalEngine
from longpass.streams._training import train


@contextlib.contextmanager
def engine_for(
    name: EngineName,
    workers: int | None = None,
    work: Callable[..., Any] = train,
    address: str | None = None,
) -> Iterator[Any]:
    """The engine of this name, until the context ends; `address` is that of a Ray cluster."""
    _checks.one_of("engine", name, get_args(EngineName))
    if name == "local":
        if address is not None:
            raise ValueError(f"address is {address!r}: only the engine 'ray' has one")
        yield LocalEngine(workers, work)
        return
    # Ray is loaded by those who ask for it.
    from longpass.jobs._ray import RayEngine

    with RayEngine(workers, work, address) as engine:
        yield engine
