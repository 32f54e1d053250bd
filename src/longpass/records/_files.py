"""Files that are complete or not there, and the names of those that every run has."""

import io
import json
import os
from collections.abc import Callable
from pathlib import Path

from longpass._json import JsonObject

RECORDS = "records.jsonl"
SETTINGS = "settings.json"


def write_atomically(path: Path, write: Callable[[io.BufferedIOBase], object]) -> None:
    """Let `write` fill a file that gets the name `path` only once it is complete and on the disk.

    Whatever goes wrong (a full disk, a kill), a file that was there before stays.
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
    """Write `value` as an indented JSON file, atomically."""
    text = json.dumps(value, indent=1) + "\n"
    write_atomically(path, lambda file: file.write(text.encode()))


def read_json(path: Path, what: str) -> JsonObject:
    """The JSON object in a file. ValueError, which names `what` it should be, if it has none."""
    try:
        found = json.loads(path.read_text())
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ValueError(f"{path} is not {what}: the file is damaged or not ours")
    return found
