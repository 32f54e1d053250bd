"""Run i of a sweep is a pure function of the sweep's name, its seed and i."""

import dataclasses

import numpy as np
import pytest
from scipy.stats import chisquare, kstest

from longpass.learners import StreamSettings, shape_of
from longpass.search import Comparison, Plan, estimate, preset

PLAN = Plan(name="a", runs=50)
SETS = {
    "batch_size": {4, 8, 16, 32, 64, 128},
    "M": {16, 32, 64},
    "k": {4, 6, 8, 10, 12},
    "V": {4, 6, 10, 16},
    "b": {1.5, 2.0, 3.0},
}


def test_settings_are_drawn_from_the_paper_s_table():
    runs = [PLAN.run(i) for i in range(len(PLAN))]
    pooled = [run for run in runs if run.memory in ("chain", "parallel")]
    gated = [run for run in runs if run.memory == "lstm"]
    assert len(pooled) == 2 * len(gated) == 2 * 3 * 8 * 50
    for name, values in SETS.items():
        of = runs if name in ("batch_size", "M") else pooled
        drawn, counts = np.unique([getattr(run, name) for run in of], return_counts=True)
        assert set(drawn) == values
        assert chisquare(counts).pvalue > 1e-4
    assert {run.D for run in pooled} == {8, 16, 24, 32, 48}
    assert {run.D for run in gated} == {8, 16, 32, 64, 96}
    assert all(run.k is run.V is run.b is None for run in gated)
    for name in ("learning_rate", "epsilon"):
        logs = np.log([getattr(run, name) for run in runs])
        low, high = np.log(5e-7), np.log(1e-3)
        assert kstest((logs - low) / (high - low), "uniform").pvalue > 1e-4
    assert len({run.seed for run in runs}) == len(runs)


def test_a_run_depends_on_name_seed_and_number_only():
    assert PLAN.run(7) == Plan(name="a", runs=50).run(7)
    assert PLAN.run(7) == dataclasses.replace(PLAN, runs=3).run(7)
    assert PLAN.run(7) != dataclasses.replace(PLAN, seed=1).run(7)
    assert PLAN.run(7) != dataclasses.replace(PLAN, name="b").run(7)


def test_runs_go_round_the_cells():
    first = [PLAN.run(i) for i in range(PLAN.cells)]
    cells = {(run.task, run.memory, run.truncation) for run in first}
    assert len(cells) == PLAN.cells == 3 * 3 * 8
    again = [PLAN.run(i + PLAN.cells) for i in range(PLAN.cells)]
    assert [(run.task, run.truncation) for run in again] == [
        (run.task, run.truncation) for run in first
    ]


def test_groups_have_every_run_once_and_one_shape_each():
    plan = dataclasses.replace(PLAN, memories=("lstm",), tasks=("two-markers",), truncations=(2,))
    groups = plan.groups
    assert sorted(i for group in groups for i in group) == list(range(len(plan)))
    assert max(map(len, groups)) > 1
    for group in groups:
        assert len({shape_of(plan.run(i)) for i in group}) == 1
        assert len(group) == 1 or plan.run(group[0]).minibatch <= 16


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"name": ""}, "name is ''"),
        ({"runs": 0}, "runs is 0: it must be at least 1"),
        ({"tasks": ("one-marker",)}, "task is 'one-marker': it must be one of"),
        ({"memories": ()}, r"memories is \(\): it must name at least one"),
        ({"memories": ("chain", "chain")}, "each once"),
        ({"memories": ("transformer",)}, "memory is 'transformer'"),
        ({"truncations": (0,)}, "truncation is 0"),
        ({"batch_sizes": (0,)}, "batch_size is 0"),
        ({"symbols": 1000}, "symbols is 1000: it must be at least 32768"),
        ({"symbols": 1e6 + 0.5}, "symbols is 1000000.5: it must be a whole number"),
    ],
)
def test_an_impossible_plan_is_refused(wrong, message, unchecked_types):
    with pytest.raises((ValueError, TypeError), match=message):
        dataclasses.replace(PLAN, **wrong).check()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"truncation": 0}, "truncation is 0"),
        ({"batch_size": -3}, "batch_size is -3"),
        ({"symbols": 63}, "symbols is 63: it must be at least 64, one minibatch of 32 streams"),
        ({"D": 0}, "D is 0"),
        ({"k": 0}, "k is 0"),
        ({"b": 1.0}, "b is 1.0: it must be finite and above 1"),
        ({"learning_rate": 0.0}, "learning_rate is 0.0"),
        ({"epsilon": float("nan")}, "epsilon is nan"),
        ({"memory": "lstm", "k": 3}, "k is 3: only the memories chain and parallel have pools"),
        ({"normalise": "batch"}, "normalise is 'batch'"),
        ({"seed": -1}, "seed is -1"),
        ({"words_seed": 1}, "only the task subsequences has words"),
    ],
)
def test_impossible_settings_are_refused(wrong, message, unchecked_types):
    with pytest.raises(ValueError, match=message):
        StreamSettings(**wrong).resolved()


def test_presets_are_as_large_as_they_say():
    quick, laptop, paper = (preset(name) for name in ("quick", "laptop", "paper"))
    assert len(quick) == 3 * 3 * 3
    assert isinstance(quick, Comparison)
    assert len(laptop) == 72 * 20
    assert len(paper) == 27_000
    assert paper.run(0).symbols == 40_000_000
    for plan in (quick, laptop, paper):
        plan.check()
    spans = [estimate(plan.run(i) for i in range(len(plan))) for plan in (quick, laptop)]
    assert 60 < spans[0] < 1200
    assert 3600 < spans[1] < 20 * 3600


def test_seeds_of_a_comparison_learn_together():
    quick = preset("quick")
    assert sorted(i for group in quick.groups for i in group) == list(range(len(quick)))
    for group in quick.groups:
        runs = [quick.run(i) for i in group]
        assert [run.seed for run in runs] == [0, 1, 2]
        assert len({shape_of(run) for run in runs}) == 1
