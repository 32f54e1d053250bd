"""The table that begins docs/results.md: what the paper says, and what was found here.

Its numbers come from the records. Whether a row says yes or no is written here;
`tests/claims/test_summary.py` holds it against the verdicts of the claims.
"""

import functools
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from longpass.agents import ONSET, RETURNS, Returns, drop_equal, find_returns, group_runs
from longpass.claims import learns
from longpass.figures import lstm_onset, rl
from longpass.figures.looks import FORGET, LEARNED, PAPER_FORM, SERIES, TASKS
from longpass.streams import read_results
from tables_agents import when

RESULTS = Path(__file__).parent.parent / "results"
SHORT = (2, 4, 8)
"""The truncations that are short."""
SOLVED = 0.95
"""A run of classification solves its task from this accuracy on."""
WORLDS = tuple(ONSET)
EASY = {"cued-catch": (0, 5, 10), "t-maze": (0, 70, 140)}
"""Where the paper's LSTMs learn."""
HARD = {task: tuple(set(panel.values) - set(EASY[task])) for task, panel in ONSET.items()}
"""Where they do not."""


class Row(NamedTuple):
    """What the paper says of something, and what was found here."""

    paper: str
    here: str
    details: str


def summary_table() -> str:
    """What was found, with details."""
    return _table([(row.paper, f"**{row.here}** {row.details}") for row in _rows()])


def short_table() -> str:
    """What was found, in a few words."""
    return _table([(row.paper, row.here) for row in _rows()])


def _table(rows: list[tuple[str, str]]) -> str:
    return "\n".join(["| the paper | here |", "|---|---|", *(f"| {a} | {b} |" for a, b in rows)])


@functools.cache
def _rows() -> list[Row]:
    return [*_classification_rows(), *_agent_rows()]


def _classification_rows() -> list[Row]:
    runs = read_results(RESULTS / "classification")
    short = runs.filter(pl.col("truncation").is_in(SHORT))
    best = {memory: _by_task(short, memory, pl.col("accuracy").max()) for memory in _COMPARED}
    solved = (pl.col("accuracy") >= SOLVED).sum()
    counts, solving = (_by_task(short, "chain", value) for value in (pl.len(), solved))
    shares = [f"{solving[task]:.0f} of {counts[task]:.0f}" for task in TASKS]
    lstms = runs.filter(memory="lstm")
    return [
        Row(
            "With gradients over 2 to 8 steps chains learn to classify, and LSTMs do not.",
            "Yes.",
            f"On three tasks the best chains have an accuracy of "
            f"{_listed(best['chain'])}, the best LSTMs {_listed(best['lstm'])}. Few random "
            f"settings suit a chain: {', '.join(shares)} solve their task.",
        ),
        Row(
            "LSTMs need long gradients.",
            "Yes.",
            f"{_solving(lstms, pl.col('truncation') <= 16)} solve their task with "
            f"gradients over at most 16 steps, {_solving(lstms, pl.col('truncation') >= 128)} over "
            f"128 or 256.",
        ),
    ]


def _solving(runs: pl.DataFrame, which: pl.Expr) -> str:
    """How many of some runs solve their task, in words."""
    chosen = runs.filter(which)["accuracy"]
    return f"{(chosen >= SOLVED).sum()} of {len(chosen)}"


_COMPARED = ("chain", "lstm")


def _by_task(runs: pl.DataFrame, memory: str, value: pl.Expr) -> dict[str, float]:
    """A value of the runs of a memory, by task."""
    found = runs.filter(memory=memory).group_by("task").agg(value.alias("value"))
    return dict(found.iter_rows())


def _listed(values: dict[str, float]) -> str:
    return ", ".join(f"{values[task]:.2f}" for task in TASKS)


def _agent_rows() -> list[Row]:
    runs = [run for run in find_returns(RESULTS / "agents", "steps") if run.complete]
    cells = group_runs(runs, rl.find_place)
    difficulties = group_runs(runs, lstm_onset.find_place)

    def pick(memory: str, *blocks: int, tasks: tuple[str, ...] = WORLDS) -> list[Returns]:
        """The agents of a memory in these worlds, by default with any block_every. With a frozen
        writer they may be the same agent with several of them: it counts once."""
        return drop_equal(
            run
            for (task, block, name), found in cells.items()
            for run in found
            if task in tasks and name == memory and (block in blocks or not blocks)
        )

    def easy(series: str, task: str, values: tuple[int, ...]) -> list[Returns]:
        return [run for value in values for run in difficulties.get((task, series, value), [])]

    lstms, chains = (
        {task: pick(memory, 300, tasks=(task,)) for task in WORLDS} for memory in ("lstm", "chain")
    )
    paper_form = [
        run for task in WORLDS for run in difficulties[task, PAPER_FORM, ONSET[task].values[0]]
    ]
    recall = {
        block: ", ".join(
            f"{SERIES[name].label} {_mean(pick(name, block, tasks=('sequence-recall',)))}"
            for name in RETURNS["sequence-recall"].memories
        )
        for block in RETURNS["sequence-recall"].block_every
    }
    onset = {
        series: "; ".join(
            f"{ONSET[task].title} {_count(easy(series, task, EASY[task]))} and "
            f"{_count(easy(series, task, HARD[task]))}"
            for task in WORLDS
        )
        for series in ("lstm", FORGET)
    }
    by_world = {
        task: f"{ONSET[task].title} {_count(lstms[task])} after {when(lstms[task])} million steps "
        f"(chains: {when(chains[task])})"
        for task in WORLDS
    }
    return [
        Row(
            "Chains learn Cued Catch and the T-maze with gradients blocked every 3 to 300 steps.",
            f"Yes with our conditioning: {_count(pick(LEARNED) + pick('chain'))}. Not in the "
            f"paper's own form: {_count(paper_form)}.",
            f"With our conditioning {_count(pick(LEARNED))} learn whose writer learns, slowly, and "
            f"{_count(pick('chain'))} whose writer is frozen, where `block_every` cannot matter.",
        ),
        Row(
            "LSTMs do not learn Cued Catch, nor the T-maze reliably, even with gradients over 300 "
            "steps.",
            f"Most do, if their gates begin with long times: "
            f"{_count([run for runs in lstms.values() for run in runs])}, mostly later than "
            f"chains.",
            f"{'; '.join(by_world.values())}. With gradients over 3 steps "
            f"{_count(pick('lstm', 3))}.",
        ),
        Row(
            "LSTMs begin to learn at 10 reward-free trials and 140 steps in limbo.",
            "In the T-maze about so with a forget bias of 1; with long times beyond that.",
            f"How many learn up to there, and beyond it. With a forget bias of 1: {onset[FORGET]}. "
            f"With long times: {onset['lstm']}.",
        ),
        Row(
            "In Sequence Recall chains earn more than LSTMs and than parallel filters.",
            "Yes, on average.",
            f"Gradients over 20 steps: {recall[20]}. Over 300: {recall[300]}.",
        ),
    ]


def _count(runs: list[Returns]) -> str:
    """How many learn, in words."""
    return f"{sum(map(learns, runs))} of {len(runs)}"


def _mean(runs: list[Returns]) -> str:
    return f"{np.mean([run.score for run in runs]):.2f}"
