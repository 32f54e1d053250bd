"""How a network writes and reads, and what that does to learning: a study of our own.

Same task, memory, budget and learner; what differs is the writer (learned, frozen, slow), the
embedding (plain, sparse) and the pools' normalisation (none, layer). The paper's own form is
learned, plain, none.
"""

from collections.abc import Sequence
from pathlib import Path

from longpass.agents import Config
from longpass.figures.learning import draw_curves, read

RUNS = Path("results/agents/conditioning")
"""Where the runs are that this project keeps; results/agents/README.md says how they are made."""


def by_form(config: Config) -> str:
    """Runs told apart by how their network writes and reads."""
    network = config.network
    return f"{network['writer']} writer, {network['embedding']}, {network['normalise']}"


def draw(out: Path, runs: Sequence[Path] = ()) -> list[Path]:
    """Draw conditioning.png and conditioning.svg into `out`, by default from the kept runs."""
    runs = list(runs) or sorted(path.parent for path in RUNS.glob("*/settings.json"))
    if not runs:
        raise ValueError(f"there are no runs in {RUNS}: name some, or train them first")
    return draw_curves(out, "conditioning", [read(run, by_form) for run in runs])
