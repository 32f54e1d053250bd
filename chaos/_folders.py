"""What a command left in its folder, in a form in which two folders can be compared."""

import collections
import json
import re
from pathlib import Path
from typing import Any

import numpy as np

# What two equal runs may differ in: timings, and where and when they ran.
_VARYING = {"seconds", "version", "commit", "jax", "machine", "date", "provenance"}
# Seconds in checkpoints of agents and of classifiers.
_SECONDS = {"['seconds']", "[1]"}
_LOCK = "lock"
_PICTURES = {".gif", ".png", ".svg"}
_DATE = re.compile(r"made on [0-9-]+")
# When it was saved depends on the time of day, and so on what it holds.
_BEFORE = "checkpoint-before.npz"


def read_folder(folder: Path) -> dict[str, Any]:
    """The content of every file that must be equal, by its path in the folder.

    Records are counted by their text. `train` repeats progress lines from the last checkpoint on;
    repeated or not, they must be equal.
    """
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_dir() or path.name in (_LOCK, _BEFORE):
            continue
        name = str(path.relative_to(folder))
        if path.suffix == ".jsonl":
            found[name] = _read_records(path)
        elif path.suffix == ".npz":
            with np.load(path) as archive:
                found[name] = {
                    key: archive[key].tobytes() for key in archive.files if key not in _SECONDS
                }
        elif path.suffix == ".json":
            found[name] = _comparable(json.loads(path.read_text()))
        elif path.suffix == ".html":
            found[name] = {"page": _DATE.sub("", path.read_text())}
        elif path.suffix in _PICTURES:
            found[name] = {"picture": path.read_bytes()}
        else:
            found[name] = "a file that should not be here"
    return found


def name_difference(one: dict[str, Any], other: dict[str, Any]) -> str | None:
    """The first difference of two folders, in words; None if they are equal."""
    for name in sorted({*one, *other}):
        if name not in one or name not in other:
            return f"{name} is in only one of them"
        if one[name] != other[name]:
            return f"{name} differs: {_describe(one[name], other[name])}"
    return None


def list_incomplete(folder: Path) -> list[str]:
    """Files that a kill left incomplete and that nothing has mended since."""
    return [
        path.name
        for path in folder.rglob("*")
        if path.suffix in (".part", ".torn") or path.name == "checkpoint-new.npz"
    ]


def _read_records(path: Path) -> dict[str, int]:
    """How often each line is there, without what may vary."""
    counts: collections.Counter[str] = collections.Counter()
    for text in path.read_text().splitlines():
        line = json.loads(text)
        if line.get("event") == "resume":
            continue
        key = json.dumps(_comparable(line), sort_keys=True)
        counts[key] = 1 if line.get("event") == "progress" else counts[key] + 1
    return dict(counts)


def _comparable(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _comparable(one) for name, one in value.items() if name not in _VARYING}
    return [_comparable(one) for one in value] if isinstance(value, list) else value


def _describe(one: Any, other: Any) -> str:
    if not isinstance(one, dict) or not isinstance(other, dict):
        return f"{one!r} and {other!r}"[:300]
    odd = [key for key in {**one, **other} if one.get(key) != other.get(key)]
    shown = [f"{str(key)[:200]} ({one.get(key)!r:.60} and {other.get(key)!r:.60})" for key in odd]
    return f"{len(odd)} of {len({**one, **other})}: {shown[0]}"
