"""`longpass figure NAME`."""

import dataclasses
from pathlib import Path
from typing import Literal, get_args

import tyro
from rich.console import Console

from longpass._json import JsonObject

FigureName = Literal[
    "impulse",
    "frequency",
    "memory-trace",
    "schematic",
    "tasks",
    "piano-roll",
    "linear-reader",
    "truncation",
    "batch-size",
]
# These show agents: all in a folder, or the runs that are named.
FigureOfAgents = Literal["rl", "rl-raw", "lstm-onset"]
FigureOfBenchmark = Literal["benchmark"]
FigureOfRuns = Literal["learning", "conditioning", "lineage"]

# Where the records of classification are that this project keeps.
_RECORDS = {
    "truncation": Path("results/classification"),
    "batch-size": Path("results/classification"),
    "benchmark": Path("results/benchmark"),
}


@dataclasses.dataclass
class Figure:
    """Draw one figure, as PNG (300 dpi) and SVG.

    impulse: windows of twelve pools onto the past, chain above bank. frequency: which signals each
    pool passes. memory-trace: strings flowing through six pools (the paper's appendix A).
    schematic: the networks of the paper, drawn from live networks. tasks: the phases of the three
    gridworlds. piano-roll: streams of symbols. linear-reader: how well a linear reader could
    classify them, by base and number of pools, with the numbers as CSV. truncation, batch-size:
    scores of all runs in --records, by truncation length (the paper's figure 4) and by batch size.
    benchmark: which memories solve which tasks at which truncation, as heat maps.
    learning: return over steps of the given runs, one line per seed. conditioning: the same,
    labelled by how the network writes and reads (those in
    results/agents/conditioning, if none is given). rl: returns on the three worlds, chain against
    LSTM, from all populations and runs in --records (the paper's figures 5 and 6); rl-raw: without
    smoothing. lstm-onset: at which difficulty LSTMs and chains begin to learn. lineage: which
    member copied which in the given population.
    """

    name: tyro.conf.Positional[FigureName | FigureOfBenchmark | FigureOfAgents | FigureOfRuns]
    """Which figure."""
    runs: tyro.conf.Positional[tuple[Path, ...]] = ()
    """For learning and conditioning: folders of runs. For lineage: a population's."""
    out: Path = Path("results/figures")
    """The folder that files go to; it is made if it is not there."""
    records: Path | None = None
    """The folder with the records that figures are drawn from; by default results/classification
    for truncation and batch-size, results/benchmark for benchmark, results/agents for rl, rl-raw
    and lstm-onset."""
    over: Literal["episodes", "steps", "optimiser_steps"] | None = None
    """For rl, rl-raw and lstm-onset: what curves are drawn over; by default episodes."""
    json: bool = False
    """Print one JSON object on standard output, and nothing else there."""

    def run(self, console: Console) -> JsonObject:
        from longpass import figures

        figures.check_options(self.name, self.runs, self.records, self.over)
        if self.name in get_args(FigureOfRuns):
            files = figures.draw_runs(self.name, self.out, self.runs)
        else:
            records = self.records or _RECORDS.get(self.name)
            files = figures.draw(self.name, self.out, records, over=self.over)
        for path in files:
            console.print(f"wrote {path}", highlight=False, soft_wrap=True)
        return {"command": "figure", "name": self.name, "files": [str(path) for path in files]}
