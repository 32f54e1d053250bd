"""Append-only records, one JSON object per line."""

import json
import os
from collections.abc import Iterable
from pathlib import Path

from longpass._json import JsonObject


class Records:
    """A file of records, one JSON object per line. Lines are appended and never changed.

    The records of one `append` are written at once and are on the disk when it returns. If a power
    cut left the last line incomplete, the next `append` moves it to a file beside this one
    (`NAME.torn`); the records before it stay.
    """

    def __init__(self, path: Path):
        self.path = Path(path)
        self._left = (
            -1
        )  # size after the last `append`: while it is the same, every line is complete

    def read(self) -> list[JsonObject]:
        """All complete records, oldest first; none if there is no file.

        ValueError if a line that is not the last is not a record: something else wrote here.
        """
        return self._parse()[0]

    def torn(self) -> bool:
        """Whether the last line is incomplete."""
        whole = self._parse()[1]
        return self.path.exists() and whole < self.path.stat().st_size

    def torn_warning(self) -> str | None:
        """What to tell the user if the last line, a run's result, is incomplete."""
        if not self.torn():
            return None
        return (
            f"the last line of {self.path} is incomplete (a power cut?): its run is run again, all "
            f"others are kept"
        )

    def append(self, records: Iterable[JsonObject]) -> None:
        """Add records, all in one write."""
        lines = "".join(json.dumps(record, allow_nan=False) + "\n" for record in records)
        self._mend()
        handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            rest = memoryview(lines.encode())
            while rest:
                rest = rest[os.write(handle, rest) :]
            os.fsync(handle)
            self._left = os.fstat(handle).st_size
        finally:
            os.close(handle)

    def _mend(self) -> None:
        """Move what follows the last complete line to the file of torn lines."""
        if self.path.exists() and self.path.stat().st_size == self._left:
            return  # reading the whole file for each record would take longer and longer
        if not self.torn():
            return
        whole = self._parse()[1]
        with self.path.open("r+b") as file, self._torn_path.open("ab") as torn:
            file.seek(whole)
            torn.write(file.read() + b"\n")
            file.truncate(whole)

    @property
    def _torn_path(self) -> Path:
        return self.path.with_name(self.path.name + ".torn")

    def _parse(self) -> tuple[list[JsonObject], int]:
        """(Complete records, how many bytes they take)."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return [], 0
        records, place = [], 0
        lines = content.splitlines(keepends=True)
        for number, line in enumerate(lines, 1):
            record = _record(line)
            if record is None:
                if number < len(lines):
                    raise ValueError(
                        f"line {number} of {self.path} is not a record: the file is damaged or "
                        f"not ours (only its last line may be incomplete); {number - 1} records "
                        f"before it are complete"
                    )
                break
            records.append(record)
            place += len(line)
        return records, place


def _record(line: bytes) -> JsonObject | None:
    """The record in a line; None if the line is incomplete."""
    if not line.endswith(b"\n"):
        return None
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None
