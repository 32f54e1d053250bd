"""Scores of memories in the benchmark, from records: with intervals."""

import dataclasses
import math
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from longpass._intervals import proportion_interval
from longpass.records import RECORDS, Line, Records
from longpass.streams._benchmark import BENCHMARKED
from longpass.streams._settings import KIND
from longpass.streams._sweep import SOLVED

_DRAWS = 2000  # of the bootstrap


@dataclasses.dataclass(frozen=True)
class BenchmarkCell:
    """The runs of one memory on one task, with one span and truncation."""

    task: str
    span: int
    memory: str
    truncation: int
    accuracies: tuple[float, ...]
    """Held-out, one per run; 0 if a run diverged."""
    longer: tuple[float, ...]
    """On sequences of twice the length, of the runs that solve the task."""
    lags: tuple[float, ...]
    """Mean lag of the Jacobian, of the same runs."""
    parameters: int

    @property
    def best(self) -> float:
        """The best accuracy."""
        return max(self.accuracies)

    @property
    def solved(self) -> tuple[float, float, float]:
        """The proportion of runs that solve the task, and its 95 % interval."""
        return proportion_interval(sum(_solved(self.accuracies)), len(self.accuracies))


@dataclasses.dataclass(frozen=True)
class MemoryScore:
    """One memory over all its cells."""

    memory: str
    parameters: int
    runs: int
    area: tuple[float, float, float]
    """The proportion of runs that solve a task, averaged over the logarithm of the truncation, over
    tasks and spans; with its 95 % interval by a bootstrap over runs."""
    longest: dict[int, int]
    """The longest span on which some task is solved by some run, by truncation; 0 if none is."""
    longer: float | None
    """Mean accuracy on sequences of twice the length, of runs that solve their task."""
    lag: float | None
    """Mean lag of the Jacobian of the same runs, as a fraction of the span."""


def read_benchmark(records: Path) -> list[BenchmarkCell]:
    """The cells of all benchmarks in a folder and the folders below it.

    **Arguments:**

    - `records`: a folder of `longpass benchmark`, or one that holds such folders.

    **Returns:** cells in the order of their first lines. ValueError if the folder is not there.
    """
    records = Path(records)
    if not records.is_dir():
        raise ValueError(
            f"records is {str(records)!r}: it must be a folder of `longpass benchmark`, or one "
            f"that holds such folders"
        )
    lines = (line for file in sorted(records.rglob(RECORDS)) for line in Records(file).read())
    cells: dict[tuple[str, int, str, int], list[Line]] = {}
    for line in lines:
        if line.get("event") == "result" and line.get("kind") == KIND and "mean_lag" in line:
            s = line["settings"]
            key = (s["task"], s["span"], name_memory(s), s["truncation"])
            cells.setdefault(key, []).append(line)
    return [_make_cell(key, runs) for key, runs in cells.items()]


def score_memories(cells: Sequence[BenchmarkCell], seed: int = 0) -> list[MemoryScore]:
    """One score per memory, the best first.

    **Arguments:**

    - `cells`: from `read_benchmark`.
    - `seed`: of the bootstrap.

    **Returns:** the scores.
    """
    memories = list(dict.fromkeys(cell.memory for cell in cells))
    scores = [_score([c for c in cells if c.memory == memory], seed) for memory in memories]
    return sorted(scores, key=lambda score: -score.area[0])


def tabulate_scores(scores: Sequence[MemoryScore]) -> list[list[str]]:
    """The table of the benchmark.

    **Arguments:**

    - `scores`: from `score_memories`.

    **Returns:** the header, then one row per memory.
    """
    truncations = sorted({one for score in scores for one in score.longest})
    spans = f"span at {', '.join(map(str, truncations))}"
    rows = [["memory", "weights", "runs", "area (95 %)", spans, "longer", "lag"]]
    for score in scores:
        area, low, high = score.area
        rows.append(
            [
                score.memory,
                str(score.parameters),
                str(score.runs),
                f"{area:.2f} ({low:.2f}-{high:.2f})",
                " ".join(str(score.longest.get(one, 0) or "-") for one in truncations),
                "" if score.longer is None else f"{score.longer:.2f}",
                "" if score.lag is None else f"{score.lag:.2f}",
            ]
        )
    return rows


def name_memory(settings: Line) -> str:
    """The name in the benchmark of the memory that a record's settings make."""
    for name, values in BENCHMARKED.items():
        options = dict(values.get("memory_options", ()))
        same = settings["memory"] == values["memory"] and settings["memory_options"] == options
        if same and settings["normalise"] == values.get("normalise"):
            return name
    options = ", ".join(f"{name}={value}" for name, value in settings["memory_options"].items())
    return f"{settings['memory']} {options}".strip()


def average_over_log(truncations: Sequence[int], values: Sequence[float]) -> float:
    """The mean of values over the logarithm of the truncation, by trapezes."""
    if len(truncations) == 1:
        return values[0]
    logs = [math.log2(one) for one in truncations]
    return float(np.trapezoid(values, logs) / (logs[-1] - logs[0]))


def _make_cell(key: tuple[str, int, str, int], lines: list[Line]) -> BenchmarkCell:
    accuracies = tuple(line["accuracy"] or 0.0 for line in lines)
    solved = [line for line, good in zip(lines, _solved(accuracies), strict=True) if good]
    return BenchmarkCell(
        *key,
        accuracies,
        tuple(line["longer_accuracy"] for line in solved),
        tuple(line["mean_lag"] for line in solved if line["mean_lag"] is not None),
        lines[0]["parameters"],
    )


def _score(cells: list[BenchmarkCell], seed: int) -> MemoryScore:
    rng = np.random.default_rng(seed)
    drawn = np.zeros(_DRAWS)
    area, kinds = 0.0, sorted({(cell.task, cell.span) for cell in cells})
    for kind in kinds:
        own = sorted(
            (c for c in cells if (c.task, c.span) == kind), key=lambda cell: cell.truncation
        )
        truncations = [cell.truncation for cell in own]
        area += average_over_log(truncations, [cell.solved[0] for cell in own]) / len(kinds)
        samples = np.stack(
            [
                rng.choice(_solved(cell.accuracies), (_DRAWS, len(cell.accuracies))).mean(axis=1)
                for cell in own
            ],
            axis=1,
        )
        drawn += np.array([average_over_log(truncations, one) for one in samples.tolist()]) / len(
            kinds
        )
    low, high = np.quantile(drawn, (0.025, 0.975))
    longest = {
        truncation: max(
            (c.span for c in cells if c.truncation == truncation and c.best >= SOLVED), default=0
        )
        for truncation in sorted({cell.truncation for cell in cells})
    }
    return MemoryScore(
        cells[0].memory,
        cells[0].parameters,
        sum(len(cell.accuracies) for cell in cells),
        (area, float(low), float(high)),
        longest,
        _mean(value for cell in cells for value in cell.longer),
        _mean(value / cell.span for cell in cells for value in cell.lags),
    )


def _solved(accuracies: Iterable[float]) -> list[bool]:
    return [accuracy >= SOLVED for accuracy in accuracies]


def _mean(values: Iterable[float]) -> float | None:
    listed = list(values)
    return sum(listed) / len(listed) if listed else None
