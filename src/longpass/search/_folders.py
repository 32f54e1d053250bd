"""Folders that are worked on for hours: whose they are, and that one driver has them at a time."""

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def alone(out: Path, what: str) -> Iterator[None]:
    """Hold the folder against a second driver in it. The lock goes with the process."""
    with (out / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ValueError(
                f"out is {str(out)!r}, in which a {what} is running: wait for it, or "
                f"choose another folder"
            ) from None
        yield


def refuse_foreign(out: Path, mark: str, what: str) -> None:
    """ValueError if there is anything in a folder without the file `mark`, which makes it ours."""
    foreign = [item.name for item in out.iterdir() if item.suffix != ".part"]
    if foreign:
        raise ValueError(
            f"out is {str(out)!r}, which has {sorted(foreign)[0]!r} in it and no "
            f"{mark}: it must be empty, or the folder of {what}"
        )
