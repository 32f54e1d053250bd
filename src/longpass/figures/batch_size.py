"""Score by batch size: the supplement to the paper's figure 4.

Appendix C.1 of the paper.
"""

from pathlib import Path

from longpass.figures._scores import draw_by


def draw(out: Path, records: Path, suffix: str) -> list[Path]:
    return draw_by("batch_size", "batch size (streams)", records, out, f"batch-size{suffix}")
