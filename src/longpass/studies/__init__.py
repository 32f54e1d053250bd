"""One file a figure: its settings, what it computes, and how it is drawn."""

import importlib
from pathlib import Path


def draw(name: str, out: Path) -> list[Path]:
    """Draw the figure `name` (such as `memory-trace`) into folder `out`; the files written."""
    study = importlib.import_module(f"longpass.studies.{name.replace('-', '_')}")
    return study.draw(out)
