"""What the page is given: runs as columns, curves as packed numbers, all of it JSON."""

import base64
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from longpass._json import JsonObject
from longpass.report._run import Run
from longpass.report._store import Store

MOST_POINTS = 200
"""Longer curves are thinned to this many points; the page says which."""
_COLUMNS = (
    "id",
    "folder",
    "collection",
    "source",
    "kind",
    "task",
    "memory",
    "block_every",
    "seed",
    "score",
    "steps",
    "commit",
    "date",
    "state",
    "best",
    "solved",
    "population",
    "member",
    "optimiser_ratio",
)


def pack_store(store: Store, since: int = 0, most: int | None = None) -> JsonObject:
    """What has changed in a store.

    **Arguments:**

    - `store`: the store.
    - `since`: the version that the page has.
    - `most`: how many runs to give at most, those that changed first. None: all.

    **Returns:** the changes, with the version that the page has then. `more` says whether there is
    more already.
    """
    with store.lock:
        changed = [run for run in store.runs.values() if run.version > since]
        changed.sort(key=lambda run: run.version)
        given = changed[:most]
        more = len(given) < len(changed)
        version = given[-1].version if more else store.version
        # Thousands of runs are placed in the figures at once, after the page has them.
        placed = [
            run
            for run in store.runs.values()
            if since < run.placed <= version and run.version <= since
        ]
        return {
            "version": version,
            "more": more,
            "runs": pack_runs(given),
            "placed": {
                "ids": [run.id for run in placed],
                "places": _index_places(placed),
                "best": _index([run.best for run in placed]),
            },
            "removed": [name for name, at in store.removed.items() if at > since],
            "populations": [one.to_json() for one in store.populations.values()],
            "activities": [one.to_json() for one in store.activities.values()],
            "notes": store.notes(),
        }


def pack_runs(runs: Sequence[Run]) -> JsonObject:
    """Runs as columns. A column is [its different values, the place of each run's among them]."""
    names = sorted({name for run in runs for name in run.settings})
    curves = [_thin(run) for run in runs]
    # Curves of classification have even steps, and count no episodes.
    even = [run.even and len(run.xs) <= MOST_POINTS for run in runs]
    counted = [bool(len(episodes) and episodes[-1] > 0) for _, _, episodes in curves]
    return {
        "count": len(runs),
        "columns": {name: _index([getattr(run, name) for run in runs]) for name in _COLUMNS},
        "settings": {name: _index_setting(runs, name) for name in names},
        "places": _index_places(runs),
        "points": [len(run.xs) for run in runs],
        "lengths": [len(ys) for _, ys, _ in curves],
        "ys": pack_numbers(ys for _, ys, _ in curves),
        "even": even,
        "ends": [float(run.xs[-1]) if run.xs else 0.0 for run in runs],
        "xs": pack_numbers(
            xs for (xs, _, _), is_even in zip(curves, even, strict=True) if not is_even
        ),
        "counted": counted,
        "episodes": pack_numbers(
            episodes for (_, _, episodes), known in zip(curves, counted, strict=True) if known
        ),
    }


def pack_numbers(arrays: Iterable[np.ndarray]) -> str:
    """Arrays, one after the other, as base64 of little-endian floats of 4 bytes."""
    joined = [np.asarray(array, "<f4").ravel() for array in arrays]
    return base64.b64encode(np.concatenate(joined).tobytes() if joined else b"").decode()


def _thin(run: Run) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(Steps, values, episodes) of the curve, at most `MOST_POINTS` of each, evenly chosen."""
    xs, ys, episodes = (np.array(values, "<f4") for values in (run.xs, run.ys, run.episodes))
    if len(xs) <= MOST_POINTS:
        return xs, ys, episodes
    chosen = np.linspace(0, len(xs) - 1, MOST_POINTS).round().astype(int)
    return xs[chosen], ys[chosen], episodes[chosen]


def _index(values: Sequence[Any]) -> list[Any]:
    """[Different values, the place of each value among them]."""
    found: dict[Any, int] = {}
    # 1, 1.0 and True are equal keys, but not the same value.
    places = [found.setdefault((value.__class__, value), len(found)) for value in values]
    return [[_round(value) for _, value in found], places]


_LACKS = object()


def _index_setting(runs: Sequence[Run], name: str) -> list[Any]:
    """A setting, each value in a list: null differs from a setting that a run lacks."""
    values, places = _index([run.settings.get(name, _LACKS) for run in runs])
    return [[None if value is _LACKS else [value] for value in values], places]


def _index_places(runs: Sequence[Run]) -> list[Any]:
    values, places = _index([tuple(sorted(run.places.items())) for run in runs])
    return [[dict(value) for value in values], places]


def _round(value: Any) -> Any:
    return float(f"{value:.7g}") if isinstance(value, float) else value
