"""JSON as Python holds it."""

from typing import Any

JsonObject = dict[str, Any]
"""A JSON object: settings, a record, or what a command prints with `--json`."""
