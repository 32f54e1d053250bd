"""How native code is compiled: once, kept on disk, without Python's lock."""

import inspect
from collections.abc import Callable
from typing import Any

from numba import njit

# Of fast arithmetic all but the assumption that numbers are finite: runs may diverge, and that must
# be seen. Checks for divisors of 0 would keep loops from being vectorised.
ARITHMETIC: dict[str, Any] = {
    "fastmath": {"contract", "reassoc", "arcp", "afn", "nsz"},
    "error_model": "numpy",
}


def compile_native(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function by Numba.

    Numba keeps compiled code in `__pycache__`, and looks at the time stamp of the function's file
    only: functions that call each other must be in one file.
    """
    # Tests check types by wrapping all functions of a package; Numba has to see what is inside.
    return njit(cache=True, nogil=True, **ARITHMETIC)(inspect.unwrap(function))
