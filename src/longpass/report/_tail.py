"""Reading on in a file of records that others append to."""

import json
from pathlib import Path
from typing import NamedTuple

import orjson

from longpass._json import JsonObject
from longpass.records import MOST_RECORDS, check_size


class NewLines(NamedTuple):
    """What was appended to a file of records since the last look."""

    records: list[JsonObject]
    bad: int
    """Complete lines that are not JSON objects."""
    anew: bool
    """Whether the file was replaced or cut: these lines are all that it has now."""


class Tail:
    """Reads a file of records as it grows, each byte once.

    Records are append-only, so each look reads on from the last complete line. A line without an
    end is being written: it is left for the next look. Only a file that was replaced or cut is read
    from its beginning again.

    **Arguments:**

    - `path`: the file.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self.place = 0
        """Bytes that have been read."""
        self._file: tuple[int, int] | None = None  # which file had this name

    def read(self) -> NewLines:
        """Read what is new. OSError if the file cannot be read, ValueError if it is too large."""
        found = self.path.stat()
        same = self._file in (None, (found.st_dev, found.st_ino))
        anew = not same or found.st_size < self.place
        self._file = (found.st_dev, found.st_ino)
        if anew:
            self.place = 0
        if found.st_size == self.place:
            return NewLines([], 0, anew)
        check_size(found.st_size, MOST_RECORDS)
        with self.path.open("rb") as file:
            file.seek(self.place)
            content = file.read()
        whole = content[: content.rfind(b"\n") + 1]
        self.place += len(whole)
        lines = whole.split(b"\n")[:-1]
        records = [record for record in map(_parse, lines) if record is not None]
        return NewLines(records, len(lines) - len(records), anew)


def _parse(line: bytes) -> JsonObject | None:
    """The object that a line is, or None. Files may have a million lines in all."""
    try:
        record = orjson.loads(line)
    except ValueError:
        # Python writes and reads what JSON has not: NaN, infinity and integers of any size.
        try:
            record = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return None
    return record if isinstance(record, dict) else None
