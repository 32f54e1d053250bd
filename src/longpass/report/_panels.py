"""The page's charts, declared with Bokeh and empty: the page's script fills their sources.

Text that comes from records is never part of a chart's own text, which Bokeh may typeset: it is
shown in the tips over points, which Bokeh escapes, and beside the charts.
"""

from collections.abc import Sequence
from typing import Any

from bokeh.embed import json_item
from bokeh.models import (
    ColumnDataSource,
    DataRange1d,
    FixedTicker,
    HoverTool,
    LinearColorMapper,
    Range1d,
    Span,
)
from bokeh.palettes import cividis, interp_palette
from bokeh.plotting import figure

from longpass._json import JsonObject
from longpass.agents import ONSET, RETURNS
from longpass.figures.looks import BLUE, GREY, ONSET_SERIES, VERMILION
from longpass.streams import TaskName

SHADES = list(cividis(48)[16:])
"""From the lowest to the highest value; distinct to the colour-blind. The darkest are left out:
they would not be seen on a dark page."""
_RUN_TIPS = [
    ("run", "@name"),
    ("task", "@task"),
    ("memory", "@memory"),
    ("block every", "@block"),
    ("seed", "@seed"),
    ("score", "@score"),
]


def make_panels(tasks: Sequence[TaskName]) -> dict[str, JsonObject]:
    """All charts of the page by name, as Bokeh embeds them."""
    panels = {"curves-linear": _curves(), "curves-log": _curves(x_axis_type="log")}
    for task in tasks:
        panels[f"scores|{task}"] = _scores()
        panels[f"solved|{task}"] = _solved()
    for env, row in RETURNS.items():
        for block in row.block_every:
            panels[f"rl|{env}|{block}"] = _curves(height=230)
    for env in ONSET:
        for series in ONSET_SERIES:
            panels[f"onset|{env}|{series}"] = _curves(height=260)
    panels["conditioning"] = _curves(height=330)
    panels["lineage"] = _lineage()
    panels |= {"impulse": _impulse(), "frequency": _frequency(), "delays": _delays()}
    panels |= {"board": _board(), "pools": _pools(), "trace": _trace()}
    return {name: dict(json_item(panel)) for name, panel in panels.items()}


def _figure(x_label: str, y_label: str, height: int = 300, **options: Any) -> Any:
    """An empty chart that looks like the project's figures."""
    # Any: Bokeh's own stubs know few of the names that a figure takes.
    make: Any = figure
    chart = make(
        height=height,
        sizing_mode="stretch_width",
        tools="box_zoom,pan,reset,save",
        active_drag=None,
        toolbar_location="above",
        background_fill_color=None,
        border_fill_color=None,
        outline_line_color=None,
        x_axis_label=x_label,
        y_axis_label=y_label,
        min_border_right=12,
        **options,
    )
    chart.toolbar.autohide = True
    chart.toolbar.logo = None
    for axis in chart.axis:
        axis.axis_label_text_font_style = "normal"
        axis.minor_tick_line_color = None
    chart.xaxis.name, chart.yaxis.name = "x-axis", "y-axis"
    chart.xgrid.grid_line_color = None
    return chart


def _source(name: str, columns: str) -> ColumnDataSource:
    """An empty source with these columns, which are separated by spaces."""
    return ColumnDataSource({column: [] for column in columns.split()}, name=name)


def _curves(height: int = 420, **options: Any) -> Any:
    """Learning curves: single runs, means with their intervals, and the highest possible return."""
    chart = _figure("", "", height, y_range=DataRange1d(name="y-range"), **options)
    band = _source("band", "xs ys colour")
    chart.patches("xs", "ys", source=band, fill_color="colour", fill_alpha=0.15, line_color=None)
    best = _source("best", "x0 x1 y colour")
    highest = chart.segment(
        "x0", "y", "x1", "y", source=best, line_color="colour", line_dash="dotted", line_width=1.2
    )
    lines: dict[str, Any] = {
        "line_color": "colour",
        "line_dash": "dash",
        "line_width": "width",
        "line_alpha": "alpha",
    }
    thin = _source("thin", "xs ys colour dash width alpha name task memory block seed score")
    drawn = chart.multi_line("xs", "ys", source=thin, **lines)
    mean = _source("mean", "xs ys colour dash width alpha label count")
    means = chart.multi_line("xs", "ys", source=mean, **lines)
    # Intervals of few runs are wide: they do not decide what is shown.
    chart.y_range.renderers = [highest, drawn, means]
    chart.add_tools(
        HoverTool(renderers=[drawn], tooltips=_RUN_TIPS, line_policy="nearest"),
        HoverTool(renderers=[means], tooltips=[("mean of", "@label"), ("runs", "@count")]),
    )
    return chart


def _scores() -> Any:
    """The paper's figure 4: one point per run."""
    chart = _figure(
        "truncation length (steps)", "held-out accuracy", y_range=Range1d(start=-0.03, end=1.05)
    )
    chart.xaxis.ticker = FixedTicker(ticks=[])
    chance = Span(dimension="width", name="chance", line_color=GREY, line_dash="dotted")
    limit = Span(dimension="width", name="limit", line_color=VERMILION, line_dash="dashed")
    for span in (chance, limit):
        chart.add_layout(span)
    best = _source("best", "xs ys colour dash")
    chart.multi_line("xs", "ys", source=best, line_color="colour", line_dash="dash", line_width=1.6)
    points = _source("points", "x y colour marker text name")
    drawn = chart.scatter(
        "x", "y", source=points, color="colour", marker="marker", size=6, alpha=0.7
    )
    tips = [("run", "@name"), ("accuracy", "@y{0.000}"), ("settings", "@text")]
    chart.add_tools(HoverTool(renderers=[drawn], tooltips=tips))
    return chart


def _solved() -> Any:
    """Below it: the proportion of runs that solve the task, with its interval."""
    chart = _figure(
        "truncation length (steps)",
        "proportion of runs solved",
        height=220,
        y_range=Range1d(start=-0.03, end=1.05),
    )
    chart.xaxis.ticker = FixedTicker(ticks=[])
    ends = _source("ends", "x low high colour")
    chart.segment("x", "low", "x", "high", source=ends, line_color="colour", line_width=1.2)
    lines = _source("lines", "xs ys colour dash")
    chart.multi_line(
        "xs", "ys", source=lines, line_color="colour", line_dash="dash", line_width=1.4
    )
    points = _source("points", "x y colour marker label solved count")
    drawn = chart.scatter("x", "y", source=points, color="colour", marker="marker", size=7)
    tips = [("memory", "@label"), ("solved", "@solved of @count"), ("proportion", "@y{0.00}")]
    chart.add_tools(HoverTool(renderers=[drawn], tooltips=tips))
    return chart


def _lineage() -> Any:
    """Members of a population over its rounds, and who copied whom."""
    chart = _figure(
        "round",
        "member",
        height=360,
        x_range=Range1d(start=0.4, end=1.6, name="x-range"),
        y_range=Range1d(start=1.0, end=-1.0, name="y-range"),
    )
    chart.xaxis.ticker = FixedTicker(ticks=[])
    chart.yaxis.ticker = FixedTicker(ticks=[])
    chart.ygrid.grid_line_color = None
    stays = _source("stays", "x0 y0 x1 y1")
    chart.segment("x0", "y0", "x1", "y1", source=stays, line_color=GREY, line_width=1)
    copies = _source("copies", "x0 y0 x1 y1 words")
    arrows = chart.segment(
        "x0", "y0", "x1", "y1", source=copies, line_color=VERMILION, line_width=2
    )
    chart.scatter("x1", "y1", source=copies, marker="circle", color=VERMILION, size=7)
    cells = _source("cells", "x y colour ink text words")
    drawn = chart.rect("x", "y", 0.5, 0.7, source=cells, fill_color="colour", line_color=None)
    chart.text(
        "x", "y", "text", source=cells, text_align="center", text_baseline="middle",
        text_color="ink", text_font_size="12px",
    )  # fmt: skip
    chart.add_tools(HoverTool(renderers=[drawn, arrows], tooltips=[("", "@words")]))
    return chart


def _impulse() -> Any:
    chart = _figure(
        "age of the input (steps, newest = 1, log scale)", "response", x_axis_type="log"
    )
    return _add_pools(chart, "steps ago", "response")


def _frequency() -> Any:
    chart = _figure(
        "angular frequency (radians per step, log scale)",
        "gain (decibels)",
        x_axis_type="log",
        y_range=Range1d(start=-60, end=6),
    )
    return _add_pools(chart, "radians per step", "decibels")


def _add_pools(chart: Any, x_words: str, y_words: str) -> Any:
    """Draw one line per pool."""
    chart.yaxis.name = "y-axis"
    pools = _source("pools", "xs ys colour dash pool")
    drawn = chart.multi_line(
        "xs", "ys", source=pools, line_color="colour", line_dash="dash", line_width=1.6
    )
    tips = [("pool", "@pool"), (x_words, "$x{0.[000]}"), (y_words, "$y{0.[0000]}")]
    chart.add_tools(HoverTool(renderers=[drawn], tooltips=tips))
    return chart


def _delays() -> Any:
    chart = _figure("pool", "age of what it holds (steps + 1, log scale)", y_axis_type="log")
    ends = _source("ends", "x low high")
    chart.segment("x", "low", "x", "high", source=ends, line_color=BLUE, line_width=2)
    points = _source("points", "x y mean spread")
    drawn = chart.scatter("x", "y", source=points, color=BLUE, size=8)
    horizon = Span(dimension="width", name="horizon", line_color=VERMILION, line_dash="dashed")
    chart.add_layout(horizon)
    tips = [("pool", "@x"), ("mean delay", "@mean{0,0.0} steps"), ("spread", "@spread{0,0.0}")]
    chart.add_tools(HoverTool(renderers=[drawn], tooltips=tips))
    return chart


def _board() -> Any:
    chart = _grid("column", "row")
    board = _source("board", "image w h")
    chart.image_rgba("image", x=0, y=0, dw="w", dh="h", source=board, origin="top_left")
    return chart


def _pools() -> Any:
    chart = _grid("unit", "pool, fastest above")
    palette = interp_palette(("#062A47", BLUE, "#F7F7F7", VERMILION, "#4F2300"), 63)
    colours = LinearColorMapper(palette=palette, low=-127, high=127)
    pools = _source("pools", "image w h")
    chart.image(
        "image", x=0, y=0, dw="w", dh="h", source=pools, color_mapper=colours, origin="top_left"
    )
    return chart


def _grid(x_label: str, y_label: str) -> Any:
    """A chart for a matrix, its first row above. The page labels the rows."""
    chart = _figure(
        x_label,
        y_label,
        height=340,
        x_range=Range1d(start=0, end=1, name="x-range"),
        y_range=Range1d(start=0, end=1, name="y-range"),
    )
    chart.grid.grid_line_color = None
    chart.yaxis.ticker = FixedTicker(ticks=[])
    return chart


def _trace() -> Any:
    chart = _figure("step", "value and return so far", height=260)
    lines = _source("lines", "xs ys colour dash label")
    drawn = chart.multi_line(
        "xs", "ys", source=lines, line_color="colour", line_dash="dash", line_width=1.5
    )
    rewards = _source("rewards", "x y")
    chart.scatter("x", "y", source=rewards, marker="triangle", color=GREY, size=6, alpha=0.6)
    chart.add_layout(Span(dimension="height", name="now", line_color=VERMILION, line_width=2))
    chart.add_tools(HoverTool(renderers=[drawn], tooltips=[("", "@label"), ("step", "$x{0}")]))
    return chart
