"""Folders of runs: made if missing, refused if foreign, held by one process at a time."""

import contextlib
import datetime
import json
import os
import platform
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows has no flock: folders are not held there
    fcntl = None

LOCK = "lock"
"""The file that a process holds while it writes in a folder."""


def make_folder(name: str, path: Path) -> Path:
    """`path` as a folder that can be written to, made if it is not there.

    **Arguments:**

    - `name`: what the user calls the folder, for the error.
    - `path`: where it is.

    **Returns:** `path`. ValueError if it is a file, or cannot be made or written to.
    """
    path = Path(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise ValueError(f"{name} is {str(path)!r}, which is a file: it must be a folder") from None
    except OSError as error:
        raise ValueError(f"{name} is {str(path)!r}, which cannot be made: {error}") from None
    if not os.access(path, os.W_OK | os.X_OK):
        raise ValueError(f"{name} is {str(path)!r}: it must be a folder that you may write to")
    return path


@contextlib.contextmanager
def hold_folder(path: Path) -> Iterator[None]:
    """Hold a folder against every other process. The lock ends with the context or the process.

    ValueError if another process holds it; the message says which one, and since when.

    **Arguments:**

    - `path`: the folder.

    **Returns:**

    A context manager.
    """
    with (path / LOCK).open("a+") as file:
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                file.seek(0)
                raise ValueError(
                    f"out is {str(path)!r}, which is in use{_holder(file.read())}: wait for it, "
                    f"or choose another folder"
                ) from None
        file.seek(0)
        file.truncate()
        since = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        json.dump({"process": os.getpid(), "host": platform.node(), "since": since}, file)
        file.flush()
        yield


def refuse_held(path: Path) -> None:
    """ValueError if another process holds a folder.

    **Arguments:**

    - `path`: the folder, which need not exist.
    """
    if (path / LOCK).exists():
        with hold_folder(path):
            pass


def refuse_foreign(path: Path, mark: str, what: str) -> None:
    """ValueError if a folder has anything in it, but not the file `mark` that makes it ours.

    **Arguments:**

    - `path`: the folder.
    - `mark`: the name of the file that every folder of this kind has.
    - `what`: the kind of folder, for the error, such as "a sweep".
    """
    if (path / mark).exists():
        return
    foreign = [item.name for item in path.iterdir() if item.suffix != ".part" and item.name != LOCK]
    if foreign:
        raise ValueError(
            f"out is {str(path)!r}, which has {sorted(foreign)[0]!r} in it and no "
            f"{mark}: it must be empty, or the folder of {what}"
        )


def _holder(text: str) -> str:
    try:
        held = json.loads(text)
        return f" by process {held['process']} on {held['host']} since {held['since']}"
    except (ValueError, KeyError, TypeError):
        return ""
