"""`longpass report`."""

import dataclasses
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.table import Table

from longpass._json import JsonObject


@dataclasses.dataclass
class WriteReport:
    """Write one HTML file that shows all runs below some folders: it opens in any browser, offline.

    It has all runs in a table to sort and filter, their learning curves, the paper's figures, its
    claims, what a memory of pools remembers, and episodes of trained agents. It is made from
    records alone; only --episodes needs checkpoints.

      longpass report
      longpass report runs/agent --episodes 1 -o agent.html
    """

    folders: tyro.conf.Positional[tuple[Path, ...]] = (Path("results"),)
    """Folders with records in them or below them."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("report.html")
    """The file to write."""
    episodes: int = 0
    """Episodes to play with each agent that has a checkpoint, as `longpass film` does."""
    json: bool = False
    """Print one JSON object on standard output, and nothing else there."""

    def run(self, console: Console) -> JsonObject:
        from longpass import _checks
        from longpass.report import write_report

        _checks.int_within("episodes", self.episodes, 0, None)
        if self.out.is_dir():
            raise ValueError(f"out is {str(self.out)!r}, which is a folder: it must be a file")
        with console.status("reading records") as status:
            report = write_report(self.folders, self.out, self.episodes, on_progress=status.update)
        table = Table("runs", "sweeps", "populations", "episodes", "megabytes", show_edge=False)
        table.add_row(
            f"{report.runs:,}",
            str(report.sweeps),
            str(report.populations),
            str(report.episodes),
            f"{report.size / 1e6:.2f}",
        )
        console.print(table)
        for note in report.notes:
            console.print(f"longpass: {note}", style="yellow", markup=False, soft_wrap=True)
        console.print(f"wrote {report.path}", highlight=False, soft_wrap=True, markup=False)
        return {
            "command": "report",
            "folders": [str(folder) for folder in self.folders],
            "file": str(report.path),
            "bytes": report.size,
            "runs": report.runs,
            "sweeps": report.sweeps,
            "populations": report.populations,
            "episodes": report.episodes,
            "notes": report.notes,
        }
