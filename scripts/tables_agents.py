"""Tables of the studies of agents: how many learn, from which difficulty on, and after how long."""

import functools
from pathlib import Path

import numpy as np

from longpass._intervals import proportion_interval
from longpass.agents import (
    GATED_VARIANTS,
    ONSET,
    ONSET_BLOCK_EVERY,
    PAPER,
    RETURNS,
    Returns,
    RunSettings,
    StudyPlan,
    StudyRun,
    find_returns,
    group_runs,
    has_defaults,
)
from longpass.claims import LEARNS, learns
from longpass.figures import lstm_onset, rl
from longpass.figures.looks import LEARNED, ONSET_SERIES, PAPER_FORM, SERIES
from longpass.records import Line, Records

RESULTS = Path(__file__).parent.parent / "results"
AGENTS = RESULTS / "agents"
TRIALS = RESULTS / "agents-search"
SEARCH = StudyPlan("search", runs=12, steps=4e6, optimiser_steps=2000, enough_steps=1e6)
"""The random search that is shown; its records have agents of earlier ones too."""


def returns_table() -> str:
    """Agents of the paper's figures 5 and 6, by world, memory and block_every."""
    cells = group_runs(_find_runs(), rl.find_place)
    rows = [_head(["world", "memory", "`block_every`"])]
    for task, row in RETURNS.items():
        for name in (*row.memories, LEARNED):
            for block in row.block_every:
                runs = cells.get((task, block, name), [])
                if runs:
                    rows.append(_row([row.title, SERIES[name].label, str(block)], runs))
    return "\n".join(rows)


def onset_table() -> str:
    """How many agents learn, by world, memory and difficulty."""
    cells = group_runs(_find_runs(), lstm_onset.find_place)
    tables = []
    for task, panel in ONSET.items():
        values = sorted(panel.values)
        rows = [
            f"| {panel.title}, {panel.words} | " + " | ".join(map(str, values)) + " |",
            "|---|" + "---|" * len(values),
        ]
        for name in ONSET_SERIES:
            found = [cells.get((task, name, value), []) for value in values]
            rows.append(f"| {SERIES[name].label} | " + " | ".join(map(_learned, found)) + " |")
        tables.append("\n".join(rows))
    return "\n\n".join(tables)


def gated_variants_table() -> str:
    """How many LSTMs learn with one setting changed, and how many GRUs."""

    def find_place(run: RunSettings) -> tuple[str, str] | None:
        learner, network = run.agent.learner, run.agent.network
        if run.env not in ONSET or learner.block_every != ONSET_BLOCK_EVERY:
            return None
        if not network.has_gates:
            return None
        if network.memory == "lstm" and has_defaults(run):
            return run.env, "as by default"
        variants = (
            name
            for name, one in GATED_VARIANTS.items()
            if network.memory == one.get("memory", "lstm") and has_defaults(run, changes=one)
        )
        name = next(variants, None)
        return None if name is None else (run.env, name)

    cells = group_runs(_find_runs(), find_place)
    rows = [_head(["world", "LSTM"])]
    for task, panel in ONSET.items():
        for name in ("as by default", *GATED_VARIANTS):
            if runs := cells.get((task, name)):
                rows.append(_row([panel.title, name], runs))
    return "\n".join(rows)


def paper_form_table() -> str:
    """How many agents in the paper's own form learn, by world and difficulty."""

    def find_place(run: RunSettings) -> tuple[str, int] | None:
        panel = ONSET.get(run.env)
        if panel is None or run.agent.network.memory != "chain":
            return None
        if not has_defaults(run, panel.param, paper=True):
            return None
        return run.env, getattr(run.params, panel.param)

    cells = group_runs(_find_runs(), find_place)
    rows = [_head(["world", "difficulty"])]
    for (task, value), runs in sorted(cells.items()):
        rows.append(_row([ONSET[task].title, f"{value} {ONSET[task].words}"], runs))
    return "\n".join(rows)


def reading_table() -> str:
    """How soon a reader learns with labels, by the form of the network."""
    forms: dict[tuple[str, str, str], list[Line]] = {}
    for line in Records(AGENTS / "reading.jsonl").read_events("result", {}):
        form = (line["writer"], line["embedding"], line["normalise"])
        forms.setdefault(form, []).append(line)
    rows = [
        "| writer | embedding | normalisation | updates until 0.75 of the answers are right | "
        "accuracy at the end |",
        "|---|---|---|---|---|",
    ]
    for form, lines in forms.items():
        soon = [_first_reading(line["curve"]) for line in lines]
        last = [f"{line['accuracy']:.2f}" for line in lines]
        rows.append(f"| {' | '.join(form)} | {', '.join(soon)} | {', '.join(last)} |")
    return "\n".join(rows)


def _first_reading(curve: list[tuple[int, float]], enough: float = 0.75) -> str:
    """The updates after which accuracy first was high enough, in words."""
    return next((str(updates) for updates, accuracy in curve if accuracy >= enough), "never")


def writer_rates_table() -> str:
    """What the paper's own form earns on a short Cued Catch, by how fast its writer learns."""
    rates: dict[float, list[Line]] = {}
    for line in Records(AGENTS / "writer-rates" / "records.jsonl").read_events("result", {}):
        rate = RunSettings.from_json(line["settings"]).agent.hyper.writer_rate
        rates.setdefault(rate, []).append(line)
    rows = [
        "| `writer_rate` | million steps | last 500 episodes, by seed | best 100 episodes, by seed "
        "|",
        "|---:|---|---|---|",
    ]
    for rate, lines in sorted(rates.items(), reverse=True):
        steps = _range([line["steps"] / 1e6 for line in lines])
        last = ", ".join(f"{line['return_500']:.1f}" for line in lines)
        best = ", ".join(f"{max(line['curve']['return_100']):.1f}" for line in lines)
        rows.append(f"| {rate:g} | {steps} | {last} | {best} |")
    return "\n".join(rows)


def paper_search_table() -> str:
    """What random settings earn in the paper's own form, at the easiest difficulty."""
    worlds: dict[str, list[Line]] = {}
    for line in Records(AGENTS / "paper-search" / "records.jsonl").read_events("result", {}):
        worlds.setdefault(line["settings"]["env"], []).append(line)
    rows = [
        "| world | difficulty | settings | million steps | thousand optimiser steps | learn | best "
        "| median | highest possible |",
        "|---|---|---:|---|---|---:|---:|---:|---:|",
    ]
    for task, lines in sorted(worlds.items()):
        panel, most = ONSET[task], lines[0]["return_max"]
        returns = [line["return_500"] for line in lines]
        cells = [
            panel.title,
            f"{min(panel.values)} {panel.words}",
            str(len(lines)),
            _range([line["steps"] / 1e6 for line in lines]),
            _range([line["optimiser_steps"] / 1e3 for line in lines]),
            str(sum(one >= LEARNS * most for one in returns)),
            *(f"{value:.2f}" for value in (max(returns), float(np.median(returns)), most)),
        ]
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)


def agents_search_table() -> str:
    """What random settings earn within a number of frames, and of optimiser steps.

    Nothing is shown of a world in which some memory has more of them than another.
    """
    cells: dict[tuple[str, str], list[Line]] = {}
    planned = set(SEARCH.make_runs())
    for line in Records(AGENTS / "search" / "records.jsonl").read_events("result", {}):
        one = StudyRun.from_json(line)
        if one in planned:
            cells.setdefault((one.run.env, one.run.agent.network.memory), []).append(line)
    budgets = {"steps": SEARCH.steps, "optimiser_steps": SEARCH.optimiser_steps}
    rows = [
        f"| world | memory | settings | {SEARCH.steps / 1e6:g} million frames: learn | best "
        f"| median | {SEARCH.optimiser_steps:,} optimiser steps: learn | best | median "
        f"| highest possible |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for task, row in RETURNS.items():
        groups = {memory: cells.get((task, memory), []) for memory in row.memories}
        counts = set(map(len, groups.values()))
        if len(counts) > 1 or 0 in counts:
            continue
        for memory, lines in groups.items():
            most, numbers = lines[0]["return_max"], [str(len(lines))]
            for axis, budget in budgets.items():
                returns = [_return_within(line, axis, budget) for line in lines]
                numbers.append(str(sum(one >= LEARNS * most for one in returns)))
                numbers += [f"{max(returns):.2f}", f"{float(np.median(returns)):.2f}"]
            about = [row.title, SERIES[memory].label, *numbers, f"{most:.2f}"]
            rows.append("| " + " | ".join(about) + " |")
    return "\n".join(rows)


def effort_table() -> str:
    """How many settings were tried for each memory, and for how many steps in all."""
    by_hand: dict[tuple[str, str], list[Line]] = {}
    for task in RETURNS:
        for line in Records(TRIALS / f"{task}.jsonl").read_events("result", {}):
            by_hand.setdefault(_tried(line), []).append(line)
    for study in ("returns", "onset", "paper-form"):
        for line in Records(AGENTS / study / "records.jsonl").read_events("result", {}):
            run = RunSettings.from_json(line["settings"])
            panel = ONSET.get(run.env)
            paper = study == "paper-form"
            if not has_defaults(run, panel.param if panel else None, paper=paper):
                by_hand.setdefault(_tried(line), []).append(line)
    drawn: dict[tuple[str, str], list[Line]] = {}
    for study in ("search", "paper-search"):
        for line in Records(AGENTS / study / "records.jsonl").read_events("result", {}):
            drawn.setdefault(_tried(line), []).append(line)
    rows = [
        "| world | memory | trials by hand | million steps | random settings | million steps |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for task, row in RETURNS.items():
        for name in (*row.memories, PAPER_FORM):
            tried = [lines.get((task, name), []) for lines in (by_hand, drawn)]
            if any(tried):
                cells = [row.title, SERIES[name].label]
                for lines in tried:
                    cells += [str(len(lines)), f"{sum(line['steps'] for line in lines) / 1e6:.0f}"]
                rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)


def _tried(line: Line) -> tuple[str, str]:
    """(World, memory) of a trial; the paper's own form of the chain counts as a memory."""
    network = line["settings"]["agent"]["network"]
    name = network["memory"]
    if name == "chain" and all(network[setting] == value for setting, value in PAPER.items()):
        name = PAPER_FORM
    return line["settings"]["env"], name


def _return_within(line: Line, axis: str, budget: float) -> float:
    """The mean return of 100 episodes when an agent had used its budget, or ended before.

    One that had finished no episode by then, or diverged, has earned nothing that could be counted.
    """
    curve = line["curve"]
    if line["diverged"] is not None:
        return -np.inf
    within = [
        value
        for spent, value in zip(curve[axis], curve["return_100"], strict=True)
        if spent <= budget and value is not None
    ]
    return within[-1] if within else -np.inf


@functools.cache
def _find_runs() -> list[Returns]:
    """All agents, their curves by environment steps."""
    return [run for run in find_returns(AGENTS, "steps") if run.complete]


def _head(about: list[str]) -> str:
    """The head of a table with rows of `_row`."""
    names = [*about, "learn", "95 %", "lowest", "median", "highest", "million steps"]
    kinds = ["---"] * len(about) + ["---"] * 2 + ["---:"] * 3 + ["---"]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (names, kinds))


def _row(about: list[str], runs: list[Returns]) -> str:
    """A row of a table: how many agents learn, with the interval, what they earn and when."""
    count = sum(map(learns, runs))
    _, low, high = proportion_interval(count, len(runs))
    scores = np.array([run.score for run in runs])
    earned = [f"{value:.2f}" for value in (scores.min(), np.median(scores), scores.max())]
    found = [f"{count} of {len(runs)}", f"{low:.2f} to {high:.2f}", *earned, when(runs)]
    return "| " + " | ".join([*about, *found]) + " |"


def _learned(runs: list[Returns]) -> str:
    """How many learn, and after how many million steps."""
    if not runs:
        return ""
    count = sum(map(learns, runs))
    words = f"{count} of {len(runs)}"
    return f"{words} ({when(runs)})" if count else words


def when(runs: list[Returns]) -> str:
    """When agents that learn first earned enough, in million steps; else how long all were."""
    times = [_first(run) / 1e6 for run in runs if learns(run)]
    return _range(times) if times else f"not within {_range([run.end / 1e6 for run in runs])}"


def _first(run: Returns) -> float:
    """The steps at which the mean of 100 episodes first was high enough."""
    enough = LEARNS * (run.settings.max_return() or np.inf)
    progress, returns = run.curves[0]
    return float(progress[np.argmax(returns >= enough)])


def _range(values: list[float]) -> str:
    low, high = f"{min(values):.1f}", f"{max(values):.1f}"
    return low if low == high else f"{low} to {high}"
