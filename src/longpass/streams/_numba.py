"""How native code is compiled: once, kept on disk, without Python's lock."""

import contextlib
import functools
import hashlib
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from numba import njit
from numba.core import config as numba_config

config: Any = numba_config  # its names are made when it is loaded

# Of fast arithmetic all but the assumption that numbers are finite: runs may diverge, and that must
# be seen. Checks for divisors of 0 would keep loops from being vectorised.
ARITHMETIC: dict[str, Any] = {
    "fastmath": {"contract", "reassoc", "arcp", "afn", "nsz"},
    "error_model": "numpy",
}
# Nothing calls these functions from C, and an entry for it takes time to compile.
_UNUSED: dict[str, Any] = {"no_cfunc_wrapper": True}


def compile_native(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function by Numba, when it is first called with some types."""
    # Tests check types by wrapping all functions of a package; Numba has to see what is inside.
    with _cache_in(_cache_folder()):
        return njit(cache=True, nogil=True, **_UNUSED, **ARITHMETIC)(inspect.unwrap(function))


@functools.cache
def _cache_folder() -> Path:
    """Where compiled code is kept: one folder per state of the source.

    Numba looks at the time stamp of a function's own file only, and would not compile it anew when
    a function or a constant of another file has changed.
    """
    here = Path(__file__).parent
    source = b"".join(path.read_bytes() for path in sorted(here.glob("*.py")))
    root = Path(config.CACHE_DIR) if config.CACHE_DIR else here / "__pycache__"
    return root / f"native-{hashlib.sha256(source).hexdigest()[:16]}"


@contextlib.contextmanager
def _cache_in(folder: Path) -> Iterator[None]:
    """Let Numba choose this folder, or another if it cannot be written."""
    before = config.CACHE_DIR
    config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        config.CACHE_DIR = before
