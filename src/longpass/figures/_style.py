"""How figures look, and how they are saved."""

import functools
from pathlib import Path
from typing import Any, Literal

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from longpass._whole_files import write_atomically
from longpass.figures.looks import BLUE as BLUE
from longpass.figures.looks import GREEN as GREEN
from longpass.figures.looks import GREY as GREY
from longpass.figures.looks import ORANGE as ORANGE
from longpass.figures.looks import PURPLE as PURPLE
from longpass.figures.looks import SKY as SKY
from longpass.figures.looks import VERMILION as VERMILION

# With dashes beside colours, neighbours differ in two ways.
CYCLE = [
    {"color": color, "linestyle": style}
    for style in ("-", (0, (5, 1.5)), (0, (1.5, 1.2)))
    for color in (BLUE, VERMILION, GREEN, PURPLE)
]

_SETTINGS: dict[Any, Any] = {
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "lines.linewidth": 1.3,
    "legend.frameon": False,
    # Equal input, equal file.
    "svg.hashsalt": "longpass",
    "svg.fonttype": "none",
}


def dash(strokes: tuple[float, ...]) -> Literal["-"] | tuple[float, tuple[float, ...]]:
    """A pattern of strokes and gaps as matplotlib takes it."""
    return (0.0, strokes) if strokes else "-"


def new(width: float, height: float) -> Figure:
    """An empty figure of this size in inches, independent of matplotlib's global state."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def styled():
    """The settings under which a figure is drawn: a context manager."""
    return matplotlib.rc_context(_SETTINGS)


def save(figure: Figure, out: Path, name: str) -> list[Path]:
    """Write `name`.png (300 dpi) and `name`.svg into folder `out`; their paths."""
    out = Path(out)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise ValueError(f"out is {str(out)!r}, which is a file: it must be a folder") from None
    paths = []
    for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
        path = out / f"{name}.{kind}"
        draw = functools.partial(figure.savefig, format=kind, dpi=300, metadata=metadata)
        write_atomically(path, draw)
        paths.append(path)
    return paths
