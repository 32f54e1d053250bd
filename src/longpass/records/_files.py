"""Files that are complete or not there, and the names of those that every run has."""

import io
import json
import os
from collections.abc import Callable
from pathlib import Path

from longpass._json import JsonObject, parse_json

RECORDS = "records.jsonl"
SETTINGS = "settings.json"
MOST_JSON = 2**27
"""Bytes of the largest JSON file that is read."""
MOST_RECORDS = 2**33
"""Bytes of the largest file of records that is read."""


def write_atomically(path: Path, write: Callable[[io.BufferedIOBase], object]) -> None:
    """Let `write` fill a file that gets the name `path` only once it is complete and on the disk.

    Whatever goes wrong (a full disk, a kill), a file that was there before stays.

    **Arguments:**

    - `path`: of the file.
    - `write`: writes the content to the file that it is given.
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
    size = path.stat().st_size
    if size > most:
        raise ValueError(f"it has {size} bytes: it must have at most {most}")
    return path.read_bytes()
