"""Which files there are below a folder, looked up again and again at little cost."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_SETTLED = 2.0  # seconds: a folder that changed this recently may change again unnoticed


class _Listing(NamedTuple):
    """What a folder had in it."""

    changed: int
    """Its time of change, in nanoseconds; -1 if it is not to be relied on."""
    folders: list[str]
    files: list[str]


class Walk:
    """Lists the files below a folder. A folder that has not changed is not listed again.

    Symbolic links to folders are not followed.

    **Arguments:**

    - `top`: the folder.
    """

    def __init__(self, top: Path):
        self._top = str(top)
        self._known: dict[str, _Listing] = {}

    def look(self) -> Iterator[tuple[str, list[str]]]:
        """(Folder, names of its files) of every folder, in the order of their names.

        Among the names, JSON files come first: they say what a folder is.
        """
        known, self._known = self._known, {}
        waiting = [self._top]
        while waiting:
            folder = waiting.pop()
            try:
                changed = Path(folder).stat().st_mtime_ns
                listing = known.get(folder)
                if listing is None or listing.changed != changed:
                    settled = changed < time.time_ns() - _SETTLED * 1e9
                    listing = _list(folder, changed if settled else -1)
            except OSError:
                continue  # it was just deleted, or may not be read
            self._known[folder] = listing
            waiting += [f"{folder}/{name}" for name in listing.folders]
            if listing.files:
                yield folder, listing.files


def _list(folder: str, changed: int) -> _Listing:
    entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    files = [entry.name for entry in entries if entry.is_file()]
    files.sort(key=lambda name: not name.endswith(".json"))
    folders = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    return _Listing(changed, folders, files)
