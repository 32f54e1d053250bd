"""How the conditioning of a network affects learning: a study of our own.

Same task, memory, budget and learner; what differs is the writer (learned, frozen, slow), the
embedding (plain, sparse) and the pools' normalisation (None, layer). The paper's own form is
learned, plain, None.
"""

from collections.abc import Sequence
from pathlib import Path

from longpass.agents import RunSettings
from longpass.figures.learning import draw_curves, read_curve

RUNS = Path("results/agents/conditioning")
"""Where the runs are that this project keeps; results/agents/README.md says how they are made."""


def label_form(run: RunSettings) -> str:
    """Names runs by the form of their network."""
    network = run.agent.network
    return f"{network.writer} writer, {network.embedding}, {network.normalise or 'not normalised'}"


def draw(out: Path, runs: Sequence[Path] = ()) -> list[Path]:
    """Draw conditioning.png and conditioning.svg into `out`, by default from the kept runs."""
    runs = list(runs) or sorted(path.parent for path in RUNS.glob("*/settings.json"))
    if not runs:
        raise ValueError(f"there are no runs in {RUNS}: name some, or train them first")
    return draw_curves(out, "conditioning", [read_curve(run, label_form) for run in runs])
