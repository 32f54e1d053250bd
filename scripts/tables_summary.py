"""The table that begins docs/results.md: what the paper says, and what was found here.

Its numbers come from the records. Whether a row says yes or no is written here;
`tests/claims/test_summary.py` holds it against the verdicts of the claims.
"""

from pathlib import Path

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


def summary_table() -> str:
    """The rows about classification and about agents."""
    rows = [*_classification_rows(), *_agent_rows()]
    return "\n".join(["| the paper | here |", "|---|---|", *(f"| {a} | {b} |" for a, b in rows)])


def _classification_rows() -> list[tuple[str, str]]:
    runs = read_results(RESULTS / "classification")
    short = runs.filter(pl.col("truncation").is_in(SHORT))
    best = {memory: _by_task(short, memory, pl.col("accuracy").max()) for memory in _COMPARED}
    solved = (pl.col("accuracy") >= SOLVED).sum()
    counts, solving = (_by_task(short, "chain", value) for value in (pl.len(), solved))
    shares = [f"{solving[task]:.0f} of {counts[task]:.0f}" for task in TASKS]
    lstms = runs.filter(memory="lstm")
    return [
        (
            "With gradients over 2 to 8 steps chains learn to classify, and LSTMs do not.",
            f"**Yes.** On three tasks the best chains have an accuracy of "
            f"{_listed(best['chain'])}, the best LSTMs {_listed(best['lstm'])}. Few random "
            f"settings suit a chain: {' and '.join(shares)} solve their task.",
        ),
        (
            "LSTMs need long gradients.",
            f"**Yes.** {_solving(lstms, pl.col('truncation') <= 16)} solve their task with "
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


def _agent_rows() -> list[tuple[str, str]]:
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
        (
            "Chains learn Cued Catch and the T-maze with gradients blocked every 3 to 300 steps.",
            f"**With our conditioning, yes**: {_count(pick(LEARNED))} whose writer learns, slowly, "
            f"and {_count(pick('chain'))} whose writer is frozen, where `block_every` cannot "
            f"matter. **In the paper's own form, no**: {_count(paper_form)}.",
        ),
        (
            "LSTMs do not learn Cued Catch, nor the T-maze reliably, even with gradients over 300 "
            "steps.",
            f"**Not so**, if their gates begin with long times: {'; '.join(by_world.values())}. "
            f"With gradients over 3 steps {_count(pick('lstm', 3))}.",
        ),
        (
            "LSTMs begin to learn at 10 reward-free trials and 140 steps in limbo.",
            f"How many learn up to there, and beyond it. With a forget bias of 1: {onset[FORGET]}. "
            f"With long times: {onset['lstm']}.",
        ),
        (
            "In Sequence Recall chains earn more than LSTMs and than parallel filters.",
            f"**Yes, on average.** Gradients over 20 steps: {recall[20]}. Over 300: {recall[300]}.",
        ),
    ]


def _count(runs: list[Returns]) -> str:
    """How many learn, in words."""
    return f"{sum(map(learns, runs))} of {len(runs)}"


def _mean(runs: list[Returns]) -> str:
    return f"{np.mean([run.score for run in runs]):.2f}"
