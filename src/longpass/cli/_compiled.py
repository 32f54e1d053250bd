"""Compiled programs are kept between commands, in the user's cache folder.

JAX reads where from environment variables when it is imported, and so do worker processes, which
inherit them. The user's own variables win; `JAX_ENABLE_COMPILATION_CACHE=false` turns it off.
"""

import contextlib
import functools
import hashlib
import os
import platform
import shutil
import stat
import sys
import warnings
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import TextIO

_FOLDER = "JAX_COMPILATION_CACHE_DIR"
_SWITCH = "JAX_ENABLE_COMPILATION_CACHE"
_LEAST_SECONDS = "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"
_MESSAGES = tuple(
    f"Error {doing} persistent compilation cache entry" for doing in ("reading", "writing")
)


def keep_compiled_programs() -> Path | None:
    """Let JAX keep compiled programs, unless the user chose otherwise. Call it before JAX is used.

    **Returns:** the folder; None if they are not kept there.
    """
    if _FOLDER in os.environ or _SWITCH in os.environ:
        return None
    try:
        folder = cache_folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
    except (OSError, RuntimeError):
        return None  # no home, or one that cannot be written to: everything works without
    # Programs are run as they are found: nobody else may have put them there.
    foreign = hasattr(os, "getuid") and found.st_uid != os.getuid()
    if foreign or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return None
    os.environ[_FOLDER] = str(folder)
    os.environ.setdefault(_LEAST_SECONDS, "0.2")
    _drop_damaged_programs(folder)
    return folder


def cache_folder() -> Path:
    """Where programs are kept: one folder per version of JAX and kind of processor."""
    given, home = os.environ.get("XDG_CACHE_HOME", ""), Path.home()
    if Path(given).is_absolute():
        base = Path(given)
    elif sys.platform == "darwin":
        base = home / "Library" / "Caches"
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local"))
    else:
        base = home / ".cache"
    # A home may be shared by machines that cannot run each other's programs.
    machine = hashlib.sha256(_processor().encode()).hexdigest()[:8]
    return base / "longpass" / f"jax-{metadata.version('jaxlib')}-{machine}"


def _processor() -> str:
    """What programs are compiled for."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith(("flags", "Features")):
                return f"{platform.machine()} {line}"
    return f"{platform.machine()} {platform.processor()}"


def _drop_damaged_programs(folder: Path) -> None:
    """Begin again with an empty folder if JAX finds that a program in it is incomplete.

    A process that was killed may have left one, and JAX would neither read nor replace it. It is
    compiled anew in any case, so the user need not hear of it, in this process or a worker.
    """
    quiet = ",".join(f"ignore:{message}" for message in _MESSAGES)
    given = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = f"{given},{quiet}" if given else quiet
    warnings.showwarning = functools.partial(_show_warning, folder, warnings.showwarning)


def _show_warning(
    folder: Path,
    show: Callable[..., object],
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Show a warning, except for one about a program that is incomplete."""
    text = str(message)
    if not text.startswith(_MESSAGES):
        show(message, category, filename, lineno, file, line)
    elif text.startswith(_MESSAGES[0]):
        shutil.rmtree(folder, ignore_errors=True)
        with contextlib.suppress(OSError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
