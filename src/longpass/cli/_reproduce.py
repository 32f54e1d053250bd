"""`longpass reproduce`."""

import dataclasses
from pathlib import Path
from typing import Any, get_args

from rich.console import Console
from rich.progress import track
from rich.table import Table

from longpass._names import Preset
from longpass.cli._figure import FigureName
from longpass.cli._sweep import carry_out


@dataclasses.dataclass
class Reproduce:
    """Reproduce the paper: train the memories, print who learned what, draw every figure.

    quick: two markers at truncations 2, 16 and 128 with good settings, three seeds: minutes.
    laptop: all three tasks and eight truncations, 20 random settings each, a quarter of the
    paper's symbols or less: hours. paper: its 27,000 runs: weeks. Records are kept in
    OUT/PRESET; a preset that is stopped goes on where it was.
    """

    preset: Preset = "quick"
    """How much of the paper's sweep to run."""
    only: FigureName | None = None
    """One figure alone; nothing is trained, unless the figure is truncation or batch-size."""
    out: Path = Path("results")
    """The folder for records and, in its folder figures, pictures."""
    workers: int | None = None
    """Processes that train; by default one a core."""
    json: bool = False
    """Print one JSON object on standard output, and nothing else there."""

    def run(self, console: Console) -> dict[str, Any]:
        from longpass import studies

        result: dict[str, Any] = {"command": "reproduce", "preset": self.preset}
        if self.only is None or self.only in studies.FROM_RECORDS:
            result["runs"] = self._train(console)
        result["figures"] = self._draw(console)
        return result | {"ok": result.get("runs", {}).get("ok", True)}

    def _train(self, console: Console) -> dict[str, Any]:
        from longpass.search import LocalEngine, Sweep, preset

        engine = LocalEngine(self.workers)
        sweep = Sweep(preset(self.preset), self.out / self.preset)
        return carry_out(sweep, engine, console)

    def _draw(self, console: Console) -> dict[str, list[str]]:
        from longpass import studies

        # The quick runs have one batch size only.
        of_all = [
            one for one in get_args(FigureName) if (self.preset, one) != ("quick", "batch-size")
        ]
        names = [self.only] if self.only else of_all
        quiet = not console.is_terminal
        # The figures of a preset stand beside those of the others.
        suffix = "" if self.preset == "laptop" else f"-{self.preset}"
        drawn = {}
        for name in track(names, "drawing", console=console, disable=quiet, transient=True):
            records = self.out / self.preset
            files = studies.draw(name, self.out / "figures", records, suffix)
            drawn[name] = [str(path) for path in files]
        table = Table("figure", "files")
        for name, files in drawn.items():
            table.add_row(name, "\n".join(files))
        console.print(table)
        return drawn
