"""What docs/benchmark.md says of the results is what the records say."""

from pathlib import Path

import pytest

from longpass.agents import find_returns
from longpass.streams import read_benchmark

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results" / "benchmark"
SLOW_TASKS = ("two-markers", "recall")
GATED = ("lstm", "lstm, chrono", "gru", "gru, chrono", "mingru", "mingru, chrono")
OTHERS = ("S6 (memax)", "FFM (memax)", "FART (memax)")


@pytest.fixture(scope="module")
def cells():
    """Cells by task, memory and truncation."""
    return {(cell.task, cell.memory, cell.truncation): cell for cell in read_benchmark(RESULTS)}


def count_solved(cells, tasks, memories, truncations=(1, 2, 4, 8, 16, 64)):
    """How many of its ten runs solve the task, for each of these cells."""
    picked = [cells[task, memory, t] for task in tasks for memory in memories for t in truncations]
    assert all(len(cell.accuracies) == 10 for cell in picked)
    return [round(10 * cell.solved[0]) for cell in picked]


def test_only_chains_learn_from_short_gradients(cells):
    assert min(count_solved(cells, SLOW_TASKS, ["chain, layer"])) == 8
    plain = count_solved(cells, SLOW_TASKS, ["chain"])
    assert (min(plain), max(plain)) == (2, 9)
    memories = GATED + OTHERS
    assert not any(count_solved(cells, SLOW_TASKS, memories, (1, 2, 4, 8, 16)))
    assert not any(count_solved(cells, ["previous"], [*memories, "lru"], (1, 2, 4, 8)))
    linear, short = ["lru", "parallel"], (1, 2, 4, 8)
    assert sorted(set(count_solved(cells, ["two-markers"], linear, short))) == [0, 1, 2]
    assert not any(count_solved(cells, ["recall"], linear, short))
    assert count_solved(cells, SLOW_TASKS, ["lru"], (64,)) == [8, 5]


def test_a_chain_does_not_tell_exact_times(cells):
    assert not any(count_solved(cells, ["previous"], ["chain", "chain, layer", "parallel"]))
    chains = [
        cell for key, cell in cells.items() if key[0] == "previous" and key[1].startswith("chain")
    ]
    best = max(cell.best for cell in chains)
    assert round(best, 2) == 0.82
    assert min(count_solved(cells, ["previous"], [*GATED[:4], "lru"], (16,))) == 3


def test_initial_gates_matter(cells):
    solved = count_solved(cells, ["recall"], GATED, (64,))
    assert dict(zip(GATED, solved, strict=True)) == {
        "lstm": 1,
        "lstm, chrono": 6,
        "gru": 0,
        "gru, chrono": 6,
        "mingru": 0,
        "mingru, chrono": 6,
    }
    short = [cells["recall", "lstm, chrono", t].best for t in (1, 2, 4, 8, 16)]
    assert round(short[0], 2) == 0.92
    assert (round(min(short[1:]), 2), round(max(short[1:]), 2)) == (0.45, 0.67)


def test_parallel_filters_and_long_gradients(cells):
    assert not any(count_solved(cells, ["recall"], ["parallel"]))
    assert any(count_solved(cells, ["two-markers"], ["parallel"]))
    *shorter, longest = count_solved(cells, ["two-markers"], ["chain"])
    assert (min(shorter), max(shorter), longest) == (7, 9, 5)


def test_twice_the_length(cells):
    def longer(task, memory):
        """By truncation, the accuracies of the runs that solve the task."""
        found = [cell.longer for key, cell in cells.items() if key[:2] == (task, memory)]
        return [one for one in found if one]

    def mean(values):
        return round(sum(values) / len(values), 2)

    def span(task, memories):
        means = [mean(one) for memory in memories for one in longer(task, memory)]
        return min(means), max(means)

    def overall(task, memory):
        return mean([one for values in longer(task, memory) for one in values])

    chains = ("chain", "chain, layer")
    assert span("two-markers", chains) == (0.33, 0.58)
    assert span("recall", chains) == (0.25, 0.84)
    assert span("two-markers", GATED[:4]) == (0.25, 0.53)
    assert span("recall", [one for one in GATED if one.endswith("chrono")]) == (0.82, 0.86)
    assert [overall("two-markers", one) for one in chains] == [0.49, 0.4]
    assert [overall(task, "lru") for task in SLOW_TASKS] == [0.24, 0.36]
    assert overall("two-markers", "mingru") == 0.98
    assert overall("two-markers", "S6 (memax)") == 0.8
    assert overall("recall", "FART (memax)") == 0.91


def test_optimiser_steps_of_lstms_that_do_not_learn_a_delay():
    steps: dict[tuple[int | None, int], set[float]] = {}
    for run in find_returns(ROOT / "results" / "agents" / "delays", "optimiser_steps"):
        network, learner = run.settings.agent.network, run.settings.agent.learner
        if run.settings.params.delay == 300 and network.memory == "lstm":
            steps.setdefault((network.longest_time, learner.block_every), set()).add(run.end)
    assert (steps[None, 3], steps[None, 300]) == ({4200}, {840})


def test_delays_that_are_learned():
    learned: dict[tuple[str, bool, int], dict[int, int]] = {}
    for run in find_returns(ROOT / "results" / "agents" / "delays"):
        network, learner = run.settings.agent.network, run.settings.agent.learner
        key = network.memory, network.longest_time is not None, learner.block_every
        counts = learned.setdefault(key, {})
        delay = run.settings.params.delay
        counts[delay] = counts.get(delay, 0) + (run.score >= 0.9)
    every = {10: 3, 30: 3, 100: 3, 300: 3}
    assert learned == {
        ("chain", False, 3): every,
        ("lstm", True, 3): every,
        ("lstm", True, 300): every,
        ("lstm", False, 3): {**every, 100: 0, 300: 0},
        ("lstm", False, 300): {**every, 300: 0},
    }
