"""Files that are complete or not there, whoever else writes them at the same time."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows has no flock: two processes should not write one file there
    fcntl = None


def write_atomically(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Let `write` fill a file that gets the name `path` only once it is complete and on the disk.

    Whatever goes wrong (a full disk, a kill), a file that was there before stays. What a kill
    leaves beside it is used, and so removed, by the next write. Processes that write the same file
    wait for each other.

    **Arguments:**

    - `path`: of the file.
    - `write`: writes the content to the file that it is given.
    """
    part = path.with_name(path.name + ".part")
    with _open_alone(part) as file:
        try:
            write(file)
            file.flush()
            os.fsync(file.fileno())
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise


@contextlib.contextmanager
def _open_alone(part: Path) -> Iterator[IO[bytes]]:
    """Open an empty file that no other process writes to."""
    while True:
        # Not emptied yet: another process may be writing it.
        with os.fdopen(os.open(part, os.O_RDWR | os.O_CREAT, 0o666), "wb") as file:
            _lock(file)
            if not _has_name(file, part):
                continue  # whoever held it has renamed it
            file.truncate(0)
            yield file
            return


def _lock(file: IO[bytes]) -> None:
    """Wait until no other process holds a file. The lock ends when it is closed."""
    if fcntl is not None:
        with contextlib.suppress(OSError):  # not every file system has locks
            fcntl.flock(file, fcntl.LOCK_EX)


def _has_name(file: IO[bytes], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
