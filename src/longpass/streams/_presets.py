"""How much of the paper's sweep to run: minutes, hours or weeks."""

from longpass._fields import Preset
from longpass.streams._fixed_plan import FixedPlan
from longpass.streams._plan import SweepPlan


def sweep_preset(name: Preset) -> SweepPlan | FixedPlan:
    """The plan of a preset.

    - quick: two markers at three truncations, good settings, three seeds.
    - laptop: every cell of the paper's figure, 20 random settings each, a quarter of the paper's
      symbols (a tenth for subsequences).
    - paper: 27,000 runs: 375 per cell, 3,000 per task and memory.

    **Arguments:**

    - `name`: of the preset.

    **Returns:**

    The plan.
    """
    match name:
        case "quick":
            return FixedPlan(
                name="quick",
                task="two-markers",
                memories=("lstm", "chain", "parallel"),
                truncations=(2, 16, 128),
                seeds=3,
                symbols=12_000_000,
            )
        case "laptop":
            return SweepPlan(name="laptop", runs=20, symbols=10_000_000)
        case "paper":
            return SweepPlan(name="paper", runs=375)
