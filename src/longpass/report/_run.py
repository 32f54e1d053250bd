"""One run, as the page shows it, from records of any form that the project has."""

import dataclasses
import json
import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from longpass._json import JsonObject
from longpass.agents import KIND as AGENT
from longpass.records import Line
from longpass.streams import KIND as STREAM

Number = int | float
"""As JSON has them: a whole number is an int."""
State = Literal["running", "complete", "diverged", "unfinished"]
Source = Literal["folder", "study", "sweep", "population", "other"]
ODD = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError)
"""What interpreting a line raises if the line is not what its event says."""
_RECENT = 10  # points
_LARGEST = 1e300  # of numbers that are shown
_LONGEST = 200  # characters of a setting that is text


@dataclasses.dataclass
class Run:
    """A run: what it was, how it went, and its learning curve so far."""

    id: str
    folder: str
    """The folder or file that it is recorded in, as text."""
    collection: str
    """The folder below DIR that it is from."""
    source: Source
    kind: str = "other"
    task: str = "?"
    memory: str = "?"
    block_every: Number | None = None
    seed: Number | None = None
    score: Number | None = None
    """Held-out accuracy, or the mean return of the last episodes."""
    steps: Number | None = None
    """Symbols, or environment steps."""
    commit: str | None = None
    date: str | None = None
    state: State = "complete"
    settings: JsonObject = dataclasses.field(default_factory=dict)
    """By short names, values that JSON can hold."""
    nested: JsonObject | None = None
    """The settings as they were recorded."""
    xs: list[Number] = dataclasses.field(default_factory=list)
    """Symbols or environment steps of the points of the curve."""
    even: bool = False
    """Whether steps are even: multiples of the first one."""
    episodes: list[Number] = dataclasses.field(default_factory=list)
    ys: list[Number] = dataclasses.field(default_factory=list)
    """Accuracy, or mean return of the last 100 episodes."""
    seconds: list[Number] = dataclasses.field(default_factory=list)
    """Time of training at each point; empty if it is not recorded."""
    optimiser_ratio: float | None = None
    """Steps of the optimiser per environment step."""
    solved: bool = False
    """Whether it ended because it had solved its world."""
    best: Number | None = None
    """The highest possible return."""
    population: str | None = None
    member: int | None = None
    rounds: dict[int, Any] = dataclasses.field(default_factory=dict)
    """Of a member: the mean return at the end of each round, as it is recorded."""
    fits: dict[str, tuple[str, ...]] | None = None
    """By figure: where its settings belong; None: not looked up yet."""
    identity: str = ""
    """Its settings, as far as results depend on them."""
    places: dict[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    """By figure: where it is shown."""
    version: int = 0
    """When it last changed, in the store's count."""
    placed: int = 0
    """When its places last changed, likewise."""

    def add_point(
        self, x: Number, y: Number | None, episodes: Number, seconds: Number | None
    ) -> None:
        """Append to the curve. What lies at or after `x` was recorded twice: the later line counts.

        A point without a value shows only how far the run is.
        """
        if self.xs and x <= self.xs[-1]:
            keep = bisect_left(self.xs, x)
            for values in (self.xs, self.episodes, self.ys, self.seconds):
                del values[keep:]
        self.steps = x
        if y is not None:
            self.xs.append(x)
            self.ys.append(y)
            self.episodes.append(episodes)
            if seconds is not None:
                self.seconds.append(seconds)

    def recent_rate(self) -> float | None:
        """Steps per second over the last points of the curve, if times are recorded."""
        xs, seconds = self.xs[-_RECENT:], self.seconds[-_RECENT:]
        if len(seconds) < 2 or len(xs) != len(seconds) or seconds[-1] <= seconds[0]:
            return None
        return (xs[-1] - xs[0]) / (seconds[-1] - seconds[0])


def read_result(run: Run, line: Line) -> None:
    """Fill in a run from its result line. KeyError, TypeError or ValueError if it is not one."""
    read_about(run, line)
    run.state = "complete" if line.get("diverged") is None else "diverged"
    if run.kind == STREAM:
        run.score = _real(line["accuracy"])
        run.steps = _real(line.get("symbols"))
        if run.state == "diverged":
            run.score = 0.0  # as everywhere in this project
        _set_even_curve(run, list(line.get("curve", [])))
        return
    run.score = _real(line.get("return_3000", line.get("return")))
    run.steps = _real(line.get("steps"))
    run.best = _real(line.get("return_max"))
    run.solved = line.get("solved") is True
    if "curve" in line:
        _set_curve(run, _points(line["curve"]))


def read_about(run: Run, line: Line) -> None:
    """Fill in what a run is, from its first line or its result."""
    nested = line["settings"] if "event" in line else _other_settings(line)
    if not isinstance(nested, dict):
        raise TypeError("settings must be an object")
    run.nested, run.settings = nested, flatten(nested)
    run.kind = line["kind"] if line.get("kind") in (STREAM, AGENT) else "other"
    given = run.settings.get
    run.task = str(given("env") or given("task") or "?")
    run.memory = str(given("memory") or given("core") or "?")
    run.block_every = _real(given("block_every", given("truncation")))
    run.seed = _real(given("seed"))
    run.commit, run.date = _text(line.get("commit")), _text(line.get("date"))
    run.optimiser_ratio = _optimiser_ratio(run.settings)


def is_result(line: Line) -> bool:
    """Whether a line is the result of one run: of this project's, or of a script's like it."""
    if line.get("event") == "result":
        return True
    return "event" not in line and {"task", "seed", "return", "curve"} <= line.keys()


def read_progress(run: Run, lines: Sequence[Line]) -> int:
    """Add progress lines to the curve of a run.

    **Returns:** how many of them are not of that form; they are left out.
    """
    if _add_points(run, lines):
        run.score = _read_score(lines[-1])
        return 0
    odd = 0
    for line in lines:
        try:
            _add_progress(run, line)
        except ODD:
            odd += 1
    return odd


def _add_points(run: Run, lines: Sequence[Line]) -> bool:
    """Append points to the curve all at once, if they are as usual: complete, and each later than
    the one before. Returns whether they were."""
    names = ("steps", "return_100", "episodes", "seconds")
    columns = [[line.get(name) for line in lines] for name in names]
    if not all(set(map(type, column)) <= {int, float} for column in columns):
        return False
    numbers = np.array(columns, float)
    xs = np.append(run.xs[-1] if run.xs else -np.inf, numbers[0])
    if not (np.abs(numbers) < _LARGEST).all() or not (xs[1:] > xs[:-1]).all():
        return False
    for values, column in zip((run.xs, run.ys, run.episodes, run.seconds), columns, strict=True):
        values += column
    run.steps = run.xs[-1]
    return True


def _add_progress(run: Run, line: Line) -> None:
    """Add one progress line of any form to the curve."""
    x = _real(line["steps"])
    if x is None:
        raise ValueError("steps must be a number")
    y, seconds = _real(line.get("return_100")), _real(line.get("seconds"))
    run.add_point(x, y, _real(line.get("episodes")) or 0.0, seconds)
    run.score = _read_score(line)


def _read_score(line: Line) -> Number | None:
    return _real(line.get("return_3000", line.get("return_100")))


def flatten(settings: JsonObject) -> JsonObject:
    """Nested settings by their own names, as values that are easy to show."""
    flat: JsonObject = {}
    for name, value in settings.items():
        if isinstance(value, dict):
            flat |= flatten(value)
        else:
            flat[_text(name) or ""] = _scalar(value)
    return flat


def _scalar(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return value if math.isfinite(value) else str(value)
    return _text(value if isinstance(value, str) else json.dumps(value))


def _text(value: Any) -> str | None:
    if value is None:
        return None
    text = str(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def _real(value: Any) -> Number | None:
    """A finite number that a float can hold, or None. NaN is neither above nor below anything."""
    if type(value) is float or type(value) is int:
        return value if abs(value) < _LARGEST else None
    return None


def _points(curve: Any) -> list[tuple[Number | None, Number | None, Number]]:
    """(Steps, return, episodes) from the forms that curves of agents have had."""
    if isinstance(curve, dict):  # a study: numbers by name
        episodes = curve.get("episodes") or [0] * len(curve["steps"])
        rows = zip(curve["steps"], curve["return_100"], episodes, strict=True)
    elif curve and isinstance(curve[0], dict):  # a trial: one object per point
        rows = ((one["steps"], one["return_100"], one.get("episodes", 0)) for one in curve)
    else:  # pairs
        rows = ((steps, value, 0) for steps, value in curve)
    return [(_real(x), _real(y), _real(e) or 0.0) for x, y, e in rows]


def _set_even_curve(run: Run, curve: list[Any]) -> None:
    """Set a curve of which only values are recorded, at even steps up to the end of training."""
    total = float(_real(run.settings.get("symbols")) or 0)
    xs = (total / max(1, len(curve)) * np.arange(1, len(curve) + 1)).tolist()
    known = [(x, y, 0.0) for x, y in zip(xs, map(_real, curve), strict=True) if y is not None]
    run.even = len(known) == len(curve)
    _set_curve(run, known)


def _set_curve(run: Run, points: Sequence[tuple[Number | None, Number | None, Number]]) -> None:
    known = [(x, y, e) for x, y, e in points if x is not None and y is not None]
    run.xs, run.ys = [x for x, _, _ in known], [y for _, y, _ in known]
    run.episodes, run.seconds = [e for _, _, e in known], []


def _other_settings(line: Line) -> JsonObject:
    """What a line without settings says about its run: all but results."""
    left_out = ("curve", "return", "seconds", "machine", "date", "commit", "version")
    return {name: value for name, value in line.items() if name not in left_out}


def _optimiser_ratio(settings: JsonObject) -> float | None:
    """Steps of the optimiser per environment step, as `LearnerSettings` counts them."""
    names = ("envs", "rollout", "slices")
    numbers = [_real(settings.get(name)) for name in names]
    if any(not number for number in numbers):
        return None
    envs, rollout, slices = (float(number or 1) for number in numbers)
    more = (_real(settings.get(name)) or 1 for name in ("epochs", "minibatches"))
    return math.prod(more) * slices / (envs * rollout)
