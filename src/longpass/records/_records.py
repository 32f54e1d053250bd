"""Append-only records, one JSON object per line."""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from longpass._json import JsonObject, parse_json
from longpass.records._files import MOST_RECORDS, read_bytes

Needs = Mapping[str, type | tuple[type, ...]]
"""Types by the key of a record; of a key inside an object, by both, such as "settings.task"."""
NUMBER = (int, float)
"""The types of a number in a record."""
NUMBER_OR_NONE = (int, float, type(None))
"""The types of a number that may be missing."""


class Records:
    """A file of records, one JSON object per line. Lines are appended and never changed.

    The records of one `append` are written at once and are on the disk when it returns; if it
    fails, none of them is. If a power cut left the last line incomplete, the next `append` moves it
    to a file beside this one (`NAME.torn`); the records before it stay.

    **Arguments:**

    - `path`: of the file; it need not exist.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     records = Records(Path(folder) / "records.jsonl")
    ...     records.append([{"event": "begin"}, {"event": "result", "accuracy": 1.0}])
    ...     [line["event"] for line in records.read()]
    ['begin', 'result']
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

    def read_events(self, event: str | None, needs: Needs) -> list[JsonObject]:
        """All complete records of one kind, with all that the caller needs of them.

        **Arguments:**

        - `event`: the kind, as records have it under "event". None: all records.
        - `needs`: the types of the values that the caller looks up.

        **Returns:** the records, oldest first. ValueError if one does not have what is needed; the
        message names its line.
        """
        found = []
        for number, record in enumerate(self.read(), 1):
            if event is None or record.get("event") == event:
                check_record(f"line {number} of {self.path}", record, needs)
                found.append(record)
        return found

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
            before = os.fstat(handle).st_size
            rest = memoryview(lines.encode())
            try:
                while rest:
                    rest = rest[os.write(handle, rest) :]
                os.fsync(handle)
            except BaseException:  # A full disk takes a part.
                os.ftruncate(handle, before)
                raise
            self._left = os.fstat(handle).st_size
        except OSError as error:
            raise OSError(f"{self.path} could not be written ({error})") from error
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
            content = read_bytes(self.path, MOST_RECORDS)
        except FileNotFoundError:
            return [], 0
        except ValueError as error:
            raise ValueError(f"{self.path} is not a file of records: {error}") from None
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
        return parse_json(line)
    except ValueError:
        return None


def check_record(where: str, record: JsonObject, needs: Needs) -> None:
    """ValueError if a record does not have what is needed of it.

    **Arguments:**

    - `where`: where it stands, for the error.
    - `record`: the record.
    - `needs`: the types of its values.
    """
    for key, types in needs.items():
        value: object = record
        for part in key.split("."):
            if not isinstance(value, dict) or part not in value:
                raise ValueError(f"{where} has no {key}: it is damaged or of another version")
            value = value[part]
        if not isinstance(value, types):
            raise ValueError(f"{where} has the {key} {value!r}: it is damaged or not ours")
