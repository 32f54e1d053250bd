"""JSON as Python holds it."""

import json
from typing import Any

JsonObject = dict[str, Any]
"""A JSON object: settings, a record, or what a command prints with `--json`."""


def parse_json(text: str | bytes) -> JsonObject:
    """The JSON object in a text. ValueError if it is anything else."""
    try:
        found = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError("it is not a JSON object")
    return found
