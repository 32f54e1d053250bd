"""Files that are whole or not there."""

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any


def write_whole(path: Path, write: Callable[[io.BufferedIOBase], Any]) -> None:
    """Let `write` fill a file that bears the name `path` only once it is whole and on the disk.

    Whatever goes wrong (a full disk, a kill), the file that was there before stays.
    """
    part = path.with_name(path.name + ".part")
    try:
        with part.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def folder(name: str, path: Path) -> Path:
    """`path` as a folder that can be written to, made if it is not there.

    `name` is what the user calls it, for the error.
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
