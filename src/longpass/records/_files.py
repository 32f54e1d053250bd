"""JSON files, and the names of the files that every run has."""

import json
from pathlib import Path

from longpass._json import JsonObject, parse_json
from longpass._whole_files import write_atomically as write_atomically

RECORDS = "records.jsonl"
"""The file of a run, sweep or study that holds its records."""
SETTINGS = "settings.json"
"""The file of a run that holds its settings."""
MOST_JSON = 2**27
"""Bytes of the largest JSON file that is read."""
MOST_RECORDS = 2**33
"""Bytes of the largest file of records that is read."""


def write_json(path: Path, value: object) -> None:
    """Write a value as an indented JSON file, atomically.

    **Arguments:**

    - `path`: of the file.
    - `value`: what JSON can hold.
    """
    text = json.dumps(value, indent=1) + "\n"
    write_atomically(path, lambda file: file.write(text.encode()))


def read_json(path: Path, what: str) -> JsonObject:
    """The JSON object in a file. ValueError if it has none.

    **Arguments:**

    - `path`: of the file.
    - `what`: what it should be, for the error, such as "the settings of a run".

    **Returns:**

    The object.
    """
    try:
        return parse_json(read_bytes(path, MOST_JSON))
    except ValueError as error:
        raise ValueError(
            f"{path} is not {what}: the file is damaged or not ours ({error})"
        ) from None


def read_bytes(path: Path, most: int) -> bytes:
    """The content of a file. ValueError if it has more than `most` bytes, before it is read."""
    check_size(path.stat().st_size, most)
    return path.read_bytes()


def check_size(size: int, most: int) -> None:
    """ValueError if a file is larger than any that we write.

    **Arguments:**

    - `size`: its bytes.
    - `most`: those of the largest file.
    """
    if size > most:
        raise ValueError(f"it has {size} bytes: it must have at most {most}")
