"""Score by truncation length: the paper's figure 4, from all records in a folder."""

from pathlib import Path

from longpass.figures._scores import draw_by


def draw(out: Path, records: Path, suffix: str) -> list[Path]:
    return draw_by("truncation", "truncation length (steps)", records, out, f"truncation{suffix}")
