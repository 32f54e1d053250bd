"""The figure `rl` without smoothing, as the paper's appendix C has it."""

from pathlib import Path

from longpass.figures import Axis, rl


def draw(
    out: Path, records: Path | None = None, suffix: str = "", over: Axis = "episodes"
) -> list[Path]:
    return rl.draw(out, records, suffix, raw=True, over=over)
