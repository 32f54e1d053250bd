"""Timing several things in turn, so that a noisy machine disturbs them alike; and showing it."""

import platform
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from rich.table import Table


def time_in_turn(calls: dict[str, Callable[[], object]], seconds: float) -> dict[str, float]:
    """Median seconds of each call (which must wait for its result), for about `seconds` in all.

    Calls take turns, for a burst of 50 ms each where they are shorter: a library's threads may
    still spin when the next one begins, and that must not be all that is measured. Each call runs
    at least three times.
    """
    bursts = {}
    for name, call in calls.items():
        call()  # compile, allocate
        begin = time.perf_counter()
        call()
        bursts[name] = max(1, round(0.05 / (time.perf_counter() - begin)))
    times: dict[str, list[float]] = {name: [] for name in calls}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or min(map(len, times.values())) < 3:
        for name, call in calls.items():
            begin = time.perf_counter()
            for _ in range(bursts[name]):
                call()
            times[name].append((time.perf_counter() - begin) / bursts[name])
    return {name: statistics.median(values) for name, values in times.items()}


def make_tables(
    rows: Mapping[tuple[int, int, int, int], dict[str, float]],
    title: str,
    peers: Mapping[str, str] | None = None,
) -> tuple[Table, Table]:
    """The tables of a benchmark of memories: milliseconds, and how many times longpass' time.

    **Arguments:**

    - `rows`: seconds of each call by its name, longpass' first, by size (B, D, k, T).
    - `title`: of the first table.
    - `peers`: calls that are compared with another one than the first.
    """
    names = list(next(iter(rows.values())))
    table = Table("B", "D", "k", "T", *names, title=title)
    ratios = Table("B", "D", "k", "T", *names[1:], title="how many times longpass' time")
    for shown in (table, ratios):
        for column in shown.columns:
            column.justify = "right"
    for size, times in rows.items():
        label = [str(number) for number in size]
        table.add_row(*label, *(f"{1e3 * t:.2f}" for t in times.values()))
        own = {name: times[(peers or {}).get(name, names[0])] for name in names[1:]}
        ratios.add_row(*label, *(f"{times[name] / own[name]:.2f}" for name in names[1:]))
    return table, ratios


def machine() -> str:
    """What this ran on, for the table's caption."""
    model = platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = info.read_text().splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        model = f"{names[0]} × {len(names)}" if names else model
    return f"{model}, {platform.system()}, Python {platform.python_version()}"
