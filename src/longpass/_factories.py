"""Finding a factory that a user names. It is code of theirs: it is imported as any other."""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def load_factory(place: str) -> Callable[..., Any]:
    """The callable that `package.module:factory` names. ValueError if there is none."""
    module_name, _, name = place.partition(":")
    if not module_name or not name:
        raise ValueError(f"memory is {place!r}: it must be package.module:factory")
    # The console script does not look for modules in the folder that it is called in.
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        found: Any = importlib.import_module(module_name)
    except Exception as error:
        # Somebody else's module may raise anything while it is imported.
        raise ValueError(
            f"memory is {place!r}: importing {module_name} raises {type(error).__name__}: {error}"
        ) from error
    for part in name.split("."):
        if not hasattr(found, part):
            raise ValueError(f"memory is {place!r}: {module_name} has no {name}")
        found = getattr(found, part)
    if not callable(found):
        raise ValueError(f"memory is {place!r}: it must be a callable, not {found!r}")
    return found
