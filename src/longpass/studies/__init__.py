"""One file a figure: its settings, what it computes, and how it is drawn."""

import importlib
from pathlib import Path
from typing import Any


def draw(name: str, out: Path, *details: Any) -> list[Path]:
    """Draw the figure `name` (such as `memory-trace`) into folder `out`; the files written.

    `details` are what the study's own `draw` takes: folders of runs, for those that show runs.
    """
    study = importlib.import_module(f"longpass.studies.{name.replace('-', '_')}")
    return study.draw(out, *details)
