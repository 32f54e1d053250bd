"""`longpass reproduce`."""

import dataclasses
from pathlib import Path
from typing import Any, get_args

from rich.console import Console
from rich.progress import track
from rich.table import Table

from longpass.cli._figure import FigureName


@dataclasses.dataclass
class Reproduce:
    """Reproduce the paper: for now, the figures that need no training."""

    only: FigureName | None = None
    """One figure alone."""
    out: Path = Path("results/figures")
    """The folder that files go to; it is made if it is not there."""
    json: bool = False
    """Print one JSON object on standard output, and nothing else there."""

    def run(self, console: Console) -> dict[str, Any]:
        from longpass import studies

        names = [self.only] if self.only else list(get_args(FigureName))
        quiet = not console.is_terminal
        drawn = {
            name: studies.draw(name, self.out)
            for name in track(names, "drawing", console=console, disable=quiet, transient=True)
        }
        table = Table("figure", "files")
        for name, files in drawn.items():
            table.add_row(name, "\n".join(str(path) for path in files))
        console.print(table)
        return {
            "command": "reproduce",
            "figures": {name: [str(path) for path in files] for name, files in drawn.items()},
        }
