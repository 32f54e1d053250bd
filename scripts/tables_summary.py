"""The table that begins docs/results.md: what the paper says, and what was found here.

Its numbers come from the records. Whether a row says yes or no is written here;
`tests/claims/test_summary.py` holds it against the verdicts of the claims.
"""

from pathlib import Path

import numpy as np
import polars as pl

from longpass.agents import ONSET, RETURNS, Returns, find_returns, group_runs
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
    lstms = runs.filter(pl.col("accuracy") >= SOLVED, memory="lstm")
    names = ", ".join(title.lower() for title in TASKS.values())
    return [
        (
            "With gradients over 2 to 8 steps chains learn to classify, and LSTMs do not.",
            f"**Yes.** The best chains have an accuracy of {_listed(best['chain'])}, the best "
            f"LSTMs {_listed(best['lstm'])} ({names}). Few random settings suit a chain: "
            f"{', '.join(shares)} solve the task.",
        ),
        (
            "LSTMs need gradients over most of a sequence.",
            f"**Yes.** No LSTM solves a task with gradients over fewer than "
            f"{lstms['truncation'].min()} steps.",
        ),
    ]


_COMPARED = ("chain", "lstm")


def _by_task(runs: pl.DataFrame, memory: str, value: pl.Expr) -> dict[str, float]:
    """A value of the runs of a memory, by task."""
    found = runs.filter(memory=memory).group_by("task").agg(value.alias("value"))
    return dict(found.iter_rows())


def _listed(values: dict[str, float]) -> str:
    return ", ".join(f"{values[task]:.2f}" for task in TASKS)


def _agent_rows() -> list[tuple[str, str]]:
    runs = find_returns(RESULTS / "agents", "steps")
    cells = group_runs(runs, rl.find_place)
    difficulties = group_runs(runs, lstm_onset.find_place)

    def pick(memory: str, *blocks: int, tasks: tuple[str, ...] = WORLDS) -> list[Returns]:
        """The agents of a memory in these worlds, by default with any block_every. With a frozen
        writer they may be the same agent with several of them: it counts once."""
        chosen = {
            (task, run.settings.seed, run.end, run.score): run
            for (task, block, name), found in cells.items()
            for run in found
            if task in tasks and name == memory and (block in blocks or not blocks)
        }
        return list(chosen.values())

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
    return [
        (
            "Chains learn Cued Catch and the T-maze with gradients blocked every 3 to 300 steps.",
            f"**Yes, with our conditioning**: {_count(pick('chain'))} agents with a frozen writer, "
            f"{_count(pick(LEARNED))} with a writer that learns at a tenth of the rate. **Not in "
            f"the paper's own form**: {_count(paper_form)}.",
        ),
        (
            "LSTMs do not learn them, even with gradients over 300 steps.",
            "**Not here.** "
            + " ".join(
                f"{ONSET[task].title}: {_count(lstms[task])} LSTMs do, after {when(lstms[task])} "
                f"million steps (chains: {when(chains[task])})."
                for task in WORLDS
            )
            + f" With gradients over 3 steps {_count(pick('lstm', 3))} do.",
        ),
        (
            "LSTMs begin to learn at 10 reward-free trials and 140 steps in limbo.",
            "**They learn beyond that too**, if their gates begin with long times (chrono "
            f"initialisation). Up to that difficulty and beyond it: {onset['lstm']}. With a forget "
            f"bias of 1: {onset[FORGET]}.",
        ),
        (
            "In Sequence Recall chains earn most, then parallel filters, then LSTMs.",
            f"**In part.** Mean return with gradients over 20 steps: {recall[20]}. Over 300 steps: "
            f"{recall[300]}.",
        ),
    ]


def _count(runs: list[Returns]) -> str:
    """How many learn, in words."""
    return f"{sum(map(learns, runs))} of {len(runs)}"


def _mean(runs: list[Returns]) -> str:
    return f"{np.mean([run.score for run in runs]):.2f}"
