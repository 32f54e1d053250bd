"""Where a result came from."""

import datetime
import functools
import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

from longpass._json import JsonObject


@functools.cache
def provenance() -> JsonObject:
    """What made a result: version, commit (with a + where files had changed), JAX, machine, day.

    **Returns:**

    The keys `version`, `commit` (None outside of a checkout), `jax`, `machine` and `date`.
    """
    return {
        "version": version("longpass"),
        "commit": _commit(),
        "jax": version("jax"),
        "machine": f"{_processor()}, {os.cpu_count()} cores",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }


def _commit() -> str | None:
    """The commit of the checkout that this code runs from; None outside of one."""
    here = Path(__file__).parent
    try:
        # Only what runs counts as changed: a new figure or record does not make a new program.
        inside = _git(here, "ls-files", Path(__file__).name)
        if not inside:
            return None
        changed = _git(here.parent, "status", "--porcelain", "--", ".")
        return _git(here, "rev-parse", "--short=10", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(where: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=where, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
