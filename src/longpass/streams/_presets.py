"""How much of the paper's sweep to run: minutes, hours or weeks."""

from longpass._names import Preset
from longpass.streams._fixed_plan import Comparison
from longpass.streams._plan import Plan


def preset(name: Preset) -> Plan | Comparison:
    """The runs of a preset.

    - quick: two markers at three truncations, good settings, three seeds.
    - laptop: every cell of the paper's figure, 20 random settings each, a quarter of the paper's
      symbols (a tenth for subsequences).
    - paper: 27,000 runs: 375 a cell, 3,000 for each task and memory.
    """
    match name:
        case "quick":
            return Comparison(
                name="quick",
                task="two-markers",
                memories=("lstm", "chain", "parallel"),
                truncations=(2, 16, 128),
                seeds=3,
                symbols=12_000_000,
            )
        case "laptop":
            return Plan(name="laptop", runs=20, symbols=10_000_000)
        case "paper":
            return Plan(name="paper", runs=375)
