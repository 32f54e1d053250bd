"""The paper's claims about sequence classification (section 5.1 and its supplement).

Each is evaluated on each task, from the table that `streams.read_results` makes.
"""

import functools
from typing import get_args

import numpy as np
import polars as pl

from longpass.claims._claim import Claim, Measurement
from longpass.claims._statistics import (
    Scores,
    compare_proportions,
    compare_quantiles,
    correlate_ranks,
    superiority,
)
from longpass.streams import CHANCE, PaperTask, SweepPlan

_SHORT = (2, 4, 8)
_TOO_SHORT_FOR_LSTM = (2, 4, 8, 16)
_LONG = (128, 256)
_ALL = SweepPlan().truncations


def _compare_short(memory: str, runs: pl.DataFrame, task: str) -> Measurement:
    """The best tenth of a memory and of LSTMs, with gradients over few steps."""
    first, second = (
        [scores for T in _SHORT if len(scores := _scores(runs, task, name, (T,)))]
        for name in (memory, "lstm")
    )
    groups = (sum(map(len, first)), sum(map(len, second)))
    return Measurement(groups, compare_quantiles(first, second) if min(groups) else None)


def _compare_lstms(runs: pl.DataFrame, task: str) -> Measurement:
    """How many LSTMs learn the task with gradients over many steps and over few."""
    halfway = (CHANCE[task] + 1) / 2
    counts = []
    for truncations in (_LONG, _TOO_SHORT_FOR_LSTM):
        scores = _scores(runs, task, "lstm", truncations)
        counts.append((int((scores >= halfway).sum()), len(scores)))
    groups = tuple(count for _, count in counts)
    return Measurement(groups, compare_proportions(*counts) if min(groups) else None)


def _compare_filters(runs: pl.DataFrame, task: str) -> Measurement:
    """Chains and parallel filters at each truncation."""
    pairs = [
        (_scores(runs, task, "chain", (T,)), _scores(runs, task, "parallel", (T,))) for T in _ALL
    ]
    compared = [pair for pair in pairs if min(map(len, pair))]
    groups = tuple(len(scores) for pair in compared for scores in pair) or (0,)
    return Measurement(groups, superiority(compared) if compared else None)


def _correlate_updates(runs: pl.DataFrame, task: str) -> Measurement:
    """Updates of the weights and accuracy, over all runs of each filter memory."""
    pairs = [
        runs.filter(pl.col("task") == task, pl.col("memory") == memory)
        .select("updates", "accuracy")
        .to_numpy()
        .astype(np.float64)
        for memory in ("chain", "parallel")
    ]
    groups = tuple(map(len, pairs))
    return Measurement(groups, correlate_ranks(pairs) if min(groups) else None)


def _scores(runs: pl.DataFrame, task: str, memory: str, truncations: tuple[int, ...]) -> Scores:
    """Accuracies of the runs with one memory and any of these truncations."""
    chosen = runs.filter(
        pl.col("task") == task,
        pl.col("memory") == memory,
        pl.col("truncation").is_in(truncations),
    )
    return chosen["accuracy"].to_numpy()


_make_claim = functools.partial(Claim[pl.DataFrame], tasks=get_args(PaperTask))

CLASSIFICATION: tuple[Claim[pl.DataFrame], ...] = (
    _make_claim(
        id="chain-short-truncation",
        text="With gradients over 2 to 8 steps, the best tenth of chains is above the best tenth "
        "of LSTMs.",
        statistic="difference of the 90 % quantiles of accuracy",
        threshold=0.0,
        measure=functools.partial(_compare_short, "chain"),
    ),
    _make_claim(
        id="parallel-short-truncation",
        text="With gradients over 2 to 8 steps, the best tenth of parallel filters is above the "
        "best tenth of LSTMs.",
        statistic="difference of the 90 % quantiles of accuracy",
        threshold=0.0,
        measure=functools.partial(_compare_short, "parallel"),
    ),
    _make_claim(
        id="lstm-needs-long-truncation",
        text="LSTMs learn the task more often with gradients over 128 or 256 steps than with "
        "gradients over 2 to 16.",
        statistic="proportion that learns with 128 or 256 steps, minus that with 2 to 16 (learns: "
        "accuracy at least halfway from chance to 1)",
        threshold=0.0,
        measure=_compare_lstms,
    ),
    _make_claim(
        id="chain-above-parallel",
        text="A chain is more accurate than parallel filters with gradients over as many steps.",
        statistic="probability that a random chain is above random parallel filters, ties half, "
        "mean over truncations",
        threshold=0.5,
        measure=_compare_filters,
    ),
    _make_claim(
        id="filters-drop-with-few-updates",
        text="The accuracy of chains and parallel filters grows with the number of updates of the "
        "weights.",
        statistic="rank correlation of updates and accuracy, mean of both memories",
        threshold=0.0,
        measure=_correlate_updates,
    ),
)
"""The claims about classification, in order."""
