"""The figure `rl` without smoothing, as the paper's appendix C has it."""

from pathlib import Path

from longpass.agents import Axis
from longpass.figures import rl


def draw(
    out: Path, records: Path | None = None, suffix: str = "", over: Axis = "episodes"
) -> list[Path]:
    return rl.draw(out, records, suffix, raw=True, over=over)
