"""The paper's claims about agents (section 5.2 and its appendix on when LSTMs start working).

Each is evaluated from the runs that `agents.find_returns` reads. A run counts if its training is
complete and it has the paper's world and the defaults of its memory there. It *learns* the task if
it ends with at least 90 % of the highest possible return.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from longpass._fields import Overrides
from longpass.agents import (
    FORGET_BIAS,
    ONSET,
    ONSET_BLOCK_EVERY,
    RETURNS,
    Returns,
    drop_equal,
    has_defaults,
)
from longpass.claims._claim import Claim, Measurement
from longpass.claims._statistics import (
    Scores,
    compare_proportions,
    estimate_proportion,
    estimate_superiority,
)

LEARNS = 0.9
"""A run learns its task if it ends with this fraction of the highest possible return, or more."""
LEAST_AGENTS = 5
"""A group with fewer agents decides nothing. The intervals are made for so few."""

Runs = Sequence[Returns]


def learns(run: Returns) -> bool:
    """Whether a run learns its task.

    **Arguments:**

    - `run`: of an agent or a population.

    **Returns:** True if it ends with at least `LEARNS` of the highest possible return.
    """
    return run.score >= LEARNS * (run.settings.max_return() or np.inf)


def _count_learners(runs: Runs) -> tuple[int, int]:
    """(Runs that learn their task, all runs)."""
    return sum(map(learns, runs)), len(runs)


def _chains_learn(runs: Runs, task: str) -> Measurement:
    """How many chains learn a task, over all `block_every`."""
    learned, count = _count_learners(_of_figures(runs, task, "chain"))
    return Measurement((count,), estimate_proportion(learned, count) if count else None)


def _chains_against_lstms(runs: Runs, task: str) -> Measurement:
    """How many chains and LSTMs learn a task, with the longest gradients of the paper: what an LSTM
    does not learn from shorter ones says nothing against it."""
    chains, lstms = (
        _of_figures(runs, task, memory, ONSET_BLOCK_EVERY) for memory in ("chain", "lstm")
    )
    return _compare(chains, lstms)


def _lstms_do_not_learn(runs: Runs, task: str) -> Measurement:
    """How many LSTMs do not learn a task, with the longest gradients of the paper."""
    learned, count = _count_learners(_of_figures(runs, task, "lstm", ONSET_BLOCK_EVERY))
    return Measurement((count,), estimate_proportion(count - learned, count) if count else None)


def _chains_above_all(runs: Runs, task: str) -> Measurement:
    """How often a chain is above another memory with the same `block_every`, for the memory and
    `block_every` of which that is least certain."""
    row = RETURNS[task]
    cells = {
        (memory, block): _scores(runs, task, memory, block)
        for block in row.block_every
        for memory in row.memories
    }
    groups = tuple(map(len, cells.values()))
    if not min(groups):
        return Measurement(groups, None)
    compared = [
        estimate_superiority(cells["chain", block], scores)
        for (memory, block), scores in cells.items()
        if memory != "chain"
    ]
    return Measurement(groups, min(compared, key=lambda estimate: estimate.interval or (0.0, 0.0)))


def _easy_against_hard(
    easy: tuple[int, ...], changes: Overrides, runs: Runs, task: str
) -> Measurement:
    """How many LSTMs, with these settings changed, learn a task at these difficulties, and at those
    above."""
    panel = ONSET[task]
    groups: dict[bool, list[Returns]] = {True: [], False: []}
    for run in runs:
        settings = run.settings
        if settings.env != task or settings.agent.network.memory != "lstm":
            continue
        if settings.agent.learner.block_every != ONSET_BLOCK_EVERY:
            continue
        value = getattr(settings.params, panel.param)
        if value in panel.values and has_defaults(settings, panel.param, changes):
            groups[value in easy].append(run)
    return _compare(groups[True], groups[False])


def _paper_form_learns(runs: Runs, task: str) -> Measurement:
    """How many chains in the paper's own form learn a task."""
    chosen = [
        run
        for run in runs
        if run.settings.env == task
        and run.settings.agent.network.memory == "chain"
        and has_defaults(run.settings, paper=True)
    ]
    learned, count = _count_learners(chosen)
    return Measurement((count,), estimate_proportion(learned, count) if count else None)


def _compare(first: Runs, second: Runs) -> Measurement:
    counts = [_count_learners(runs) for runs in (first, second)]
    groups = tuple(count for _, count in counts)
    return Measurement(groups, compare_proportions(*counts) if min(groups) else None)


def _of_figures(runs: Runs, task: str, memory: str, block_every: int | None = None) -> Runs:
    """The runs of a memory in the paper's figures, with one `block_every` or all; of equal ones,
    one."""
    blocks = RETURNS[task].block_every if block_every is None else (block_every,)
    return drop_equal(
        run
        for run in runs
        if run.settings.env == task
        and run.settings.agent.network.memory == memory
        and run.settings.agent.learner.block_every in blocks
        and has_defaults(run.settings)
    )


def _scores(runs: Runs, task: str, memory: str, block_every: int) -> Scores:
    return np.array([run.score for run in _of_figures(runs, task, memory, block_every)], float)


def _make_claim(*, measure: Callable[[Runs, str], Measurement], **about: Any) -> Claim[Runs]:
    """A claim about runs whose training is complete."""

    def measure_complete(runs: Runs, task: str) -> Measurement:
        return measure([run for run in runs if run.complete], task)

    return Claim(measure=measure_complete, least_runs=LEAST_AGENTS, **about)


def _chain_claim(task: str) -> Claim[Runs]:
    blocks = ", ".join(map(str, RETURNS[task].block_every))
    return _make_claim(
        id=f"{task}-chain",
        text=f"Chains learn {RETURNS[task].title} with gradients blocked every {blocks} steps.",
        statistic="proportion of chains that learn it, over all block_every",
        threshold=0.5,
        tasks=(task,),
        measure=_chains_learn,
    )


def _lstm_claim(task: str) -> Claim[Runs]:
    return _make_claim(
        id=f"{task}-lstm",
        text=f"LSTMs do not learn {RETURNS[task].title} as chains do, even with gradients over 300 "
        f"steps.",
        statistic="proportion of chains that learn it minus that of LSTMs, block_every 300",
        threshold=0.0,
        tasks=(task,),
        measure=_chains_against_lstms,
    )


def _no_lstm_claim(task: str) -> Claim[Runs]:
    return _make_claim(
        id=f"{task}-no-lstm",
        text=f"Most LSTMs do not learn {RETURNS[task].title}, even with gradients over 300 steps.",
        statistic="proportion of LSTMs that do not learn it, block_every 300",
        threshold=0.5,
        tasks=(task,),
        measure=_lstms_do_not_learn,
    )


def _onset_claim(
    task: str, easy: tuple[int, ...], prefix: str, words: str, changes: Overrides
) -> Claim[Runs]:
    panel = ONSET[task]
    return _make_claim(
        id=f"{prefix}-onset-{task}",
        text=f"LSTMs with {words}gradients over 300 steps learn {panel.title} more often with at "
        f"most {max(easy)} {panel.words} than with more.",
        statistic=f"proportion that learns it with at most {max(easy)}, minus that with more",
        threshold=0.0,
        tasks=(task,),
        measure=functools.partial(_easy_against_hard, easy, changes),
    )


# (Beginning of the id, words, settings that are not the defaults.) The paper does not say how its
# LSTM begins; a forget bias of 1 was usual.
_ONSET_LSTMS: tuple[tuple[str, str, Overrides], ...] = (
    ("lstm", "", {}),
    ("forget-bias", "a forget bias of 1 and ", FORGET_BIAS),
)
AGENTS: tuple[Claim[Runs], ...] = (
    _chain_claim("cued-catch"),
    _lstm_claim("cued-catch"),
    _no_lstm_claim("cued-catch"),
    _chain_claim("t-maze"),
    _lstm_claim("t-maze"),
    _no_lstm_claim("t-maze"),
    _make_claim(
        id="sequence-recall-order",
        text="In Sequence Recall chains earn more than LSTMs and than parallel filters.",
        statistic="probability that a random chain is above a random one of the others, ties half: "
        "the least certain of the comparisons with each memory and block_every",
        threshold=0.5,
        tasks=("sequence-recall",),
        measure=_chains_above_all,
    ),
    *(
        _onset_claim(task, easy, *kind)
        for kind in _ONSET_LSTMS
        for task, easy in (("cued-catch", (0, 5, 10)), ("t-maze", (0, 70, 140)))
    ),
    _make_claim(
        id="paper-form",
        text="Chains in the paper's own form (learned writer, plain embedding, no normalisation) "
        "learn the task.",
        statistic="proportion that learns it",
        threshold=0.5,
        tasks=("cued-catch", "t-maze"),
        measure=_paper_form_learns,
    ),
)
"""The claims about agents, in order."""
