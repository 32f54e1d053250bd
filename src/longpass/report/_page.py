"""The page: one HTML file with its style, its scripts and its data inside."""

import base64
import functools
import hashlib
import html
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from scipy.special import stdtrit

from longpass._extras import explain_missing
from longpass._json import JsonObject
from longpass.agents import ONSET, RETURNS
from longpass.figures.looks import (
    BLUE,
    GREEN,
    MEMORIES,
    ONSET_SERIES,
    ORANGE,
    PURPLE,
    SERIES,
    SKY,
    TASKS,
    VERMILION,
)
from longpass.report._panels import SHADES, make_panels
from longpass.report._payload import MOST_POINTS
from longpass.streams import CHANCE

# In the order in which they need each other; main.js begins.
_SCRIPTS = (
    "core",
    "panels",
    "filters",
    "overview",
    "curves",
    "scores",
    "figures",
    "claims",
    "explorer",
    "episodes",
    "live",
    "main",
)


def make_page(
    title: str,
    about: str,
    records: JsonObject | None,
    episodes: list[JsonObject],
    *,
    live: bool = False,
) -> str:
    """The page as text.

    **Arguments:**

    - `title`: what it is about, in a few words.
    - `about`: the same in a sentence.
    - `records`: what `pack_store` made; None if the page asks for it.
    - `episodes`: what `pack_episode` made of each.
    - `live`: whether the page asks the server that it came from what is new.

    **Returns:** HTML that needs nothing else, and asks for nothing that it may not have: its policy
    allows no script but those inside, and no request (of a live page: to its server alone).
    """
    scripts = [read_bokeh(), "\n".join(_read(f"{name}.js") for name in _SCRIPTS)]
    config = {"about": about, "episodes": episodes, "live": live, **_make_config()}
    return _read("page.html").format(
        policy=_make_policy(scripts, live),
        title=html.escape(title),
        style=_read("style.css"),
        config=_embed(config),
        records=_embed(records),
        scripts="\n".join(f"<script>{script}</script>" for script in scripts),
    )


def read_bokeh() -> str:
    """Bokeh's own script. ModuleNotFoundError, which names the extra, if it is not installed."""
    try:
        import bokeh
    except ModuleNotFoundError as error:
        raise explain_missing(error, "the report") from error
    folder = Path(bokeh.__file__).parent / "server" / "static" / "js"
    return (folder / "bokeh.min.js").read_text(encoding="utf-8")


@functools.cache
def _make_config() -> JsonObject:
    """What the page must know beside records: charts, looks, and what the figures show."""
    panels = make_panels(list(TASKS))
    palette = [BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY]
    return {
        "panels": panels,
        "heights": {name: _find_height(panel) for name, panel in panels.items()},
        "palette": palette,
        "shades": SHADES,
        "looks": {name: SERIES[name]._asdict() for name in MEMORIES},
        "series": {name: one._asdict() for name, one in SERIES.items()},
        "titles": {**TASKS, **{env: row.title for env, row in RETURNS.items()}},
        "chance": CHANCE,
        "returns": {
            env: {"title": row.title, "blocks": row.block_every} for env, row in RETURNS.items()
        },
        "onset": {
            env: {
                "title": panel.title,
                "words": panel.words,
                "values": panel.values,
                "series": ONSET_SERIES,
            }
            for env, panel in ONSET.items()
        },
        # Student's t for 95 % intervals, by degrees of freedom from 1 on.
        "student": [float(stdtrit(count, 0.975)) for count in range(1, 201)],
        "mostPoints": MOST_POINTS,
    }


def _find_height(panel: JsonObject) -> int:
    return panel["doc"]["roots"][0]["attributes"]["height"]


def _make_policy(scripts: list[str], live: bool) -> str:
    """The content security policy: these scripts, inline styles, and nothing from elsewhere."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(one.encode()).digest()).decode()}'"
        for one in scripts
    )
    asks = "'self'" if live else "'none'"
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        f"img-src data: blob:; connect-src {asks}; base-uri 'none'; form-action 'none'"
    )


def _embed(value: Any) -> str:
    """JSON for a script element: no character of it can end the element or begin a comment."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _read(name: str) -> str:
    return (files("longpass.report") / "static" / name).read_text(encoding="utf-8")
