"""Run i of a sweep is a pure function of the sweep's name, its seed and i."""

import dataclasses
import json
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from scipy.stats import chisquare, kstest

from longpass._fields import add_defaults, from_json, to_json
from longpass.records import RECORDS, Records
from longpass.streams import (
    FixedPlan,
    PaperTask,
    StreamSettings,
    SweepPlan,
    estimate_seconds,
    sweep_preset,
)

ROOT = Path(__file__).parents[2]
PLAN = SweepPlan(name="a", runs=25)
SETS = {
    "batch_size": {4, 8, 16, 32, 64, 128},
    "hidden_size": {16, 32, 64},
    "num_pools": {4, 6, 8, 10, 12},
    "viewport_size": {4, 6, 10, 16},
    "base": {1.5, 2.0, 3.0},
}


def test_settings_are_drawn_from_the_paper_s_table():
    runs = [PLAN.settings(i) for i in range(len(PLAN))]
    pooled = [run for run in runs if run.memory in ("chain", "parallel")]
    gated = [run for run in runs if run.memory == "lstm"]
    assert len(pooled) == 2 * len(gated) == 2 * 3 * 8 * 25
    for name, values in SETS.items():
        of = runs if name in ("batch_size", "hidden_size") else pooled
        drawn, counts = np.unique([getattr(run, name) for run in of], return_counts=True)
        assert set(drawn) == values
        assert chisquare(counts).pvalue > 1e-4
    assert {run.pool_size for run in pooled} == {8, 16, 24, 32, 48}
    assert {run.state_size for run in gated} == {8, 16, 32, 64, 96}
    assert all(run.num_pools is run.viewport_size is run.base is None for run in gated)
    for name in ("learning_rate", "epsilon"):
        logs = np.log([getattr(run, name) for run in runs])
        low, high = np.log(5e-7), np.log(1e-3)
        assert kstest((logs - low) / (high - low), "uniform").pvalue > 1e-4
    assert len({run.seed for run in runs}) == len(runs)


def test_a_run_depends_on_name_seed_and_number_only():
    assert PLAN.settings(7) == SweepPlan(name="a", runs=25).settings(7)
    assert PLAN.settings(7) == dataclasses.replace(PLAN, runs=3).settings(7)
    assert PLAN.settings(7) != dataclasses.replace(PLAN, seed=1).settings(7)
    assert PLAN.settings(7) != dataclasses.replace(PLAN, name="b").settings(7)


def test_runs_go_round_the_cells():
    first = [PLAN.settings(i) for i in range(PLAN.cells)]
    cells = {(run.task, run.memory, run.truncation) for run in first}
    assert len(cells) == PLAN.cells == 3 * 3 * 8
    again = [PLAN.settings(i + PLAN.cells) for i in range(PLAN.cells)]
    assert [(run.task, run.truncation) for run in again] == [
        (run.task, run.truncation) for run in first
    ]


def test_groups_have_every_run_once_and_one_shape_each():
    plan = dataclasses.replace(PLAN, memories=("lstm",), tasks=("two-markers",), truncations=(2,))
    groups = plan.groups("jax")
    assert sorted(i for group in groups for i in group) == list(range(len(plan)))
    assert max(map(len, groups)) > 1
    for group in groups:
        assert len({plan.settings(i).group_key for i in group}) == 1
        assert len(group) == 1 or plan.settings(group[0]).minibatch <= 16


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"name": ""}, "name is ''"),
        ({"runs": 0}, "runs is 0: it must be 1 to 10000"),
        ({"tasks": ("one-marker",)}, "tasks is 'one-marker': it must be one of"),
        ({"memories": ()}, r"memories is \(\): it must have at least one"),
        ({"memories": ("chain", "chain")}, "each once"),
        ({"memories": (1, 2)}, r"memories is \(1, 2\): it must have names"),
        ({"memories": ("transformer",)}, "memory is 'transformer'"),
        ({"truncations": (0,)}, "truncations is 0"),
        ({"batch_sizes": (0,)}, "batch_sizes is 0"),
        ({"symbols": 1000}, "symbols is 1000: it must be at least 32768"),
        ({"symbols": 1e6 + 0.5}, "symbols is 1000000.5: it must be a whole number"),
    ],
)
def test_a_plan_that_is_not_possible_is_refused(wrong, message, unchecked_types):
    with pytest.raises((ValueError, TypeError), match=message):
        dataclasses.replace(PLAN, **wrong).check()


def test_presets_are_as_large_as_they_say():
    quick, laptop, paper = (sweep_preset(name) for name in ("quick", "laptop", "paper"))
    assert len(quick) == 3 * 3 * 3
    assert isinstance(quick, FixedPlan)
    assert len(laptop) == 72 * 20
    assert len(paper) == 27_000
    assert paper.settings(0).symbols == 40_000_000
    for plan in (quick, laptop, paper):
        plan.check()
    spans = [
        estimate_seconds(plan.settings(i) for i in range(len(plan))) for plan in (quick, laptop)
    ]
    assert 20 < spans[0] < 1200
    assert 2400 < spans[1] < 20 * 3600


def test_native_code_trains_runs_one_by_one():
    for plan in (PLAN, sweep_preset("quick")):
        assert plan.groups("native") == [(i,) for i in range(len(plan))]


def test_seeds_of_a_fixed_plan_are_trained_together():
    quick = sweep_preset("quick")
    groups = quick.groups("jax")
    assert sorted(i for group in groups for i in group) == list(range(len(quick)))
    for group in groups:
        runs = [quick.settings(i) for i in group]
        assert [run.seed for run in runs] == [0, 1, 2]
        assert len({run.group_key for run in runs}) == 1


def test_what_is_drawn_does_not_change_between_versions():
    """Records of older sweeps stay records of the same plan."""
    laptop = sweep_preset("laptop")
    common = {"task": "two-markers", "truncation": 2, "symbols": 10_000_000}
    assert laptop.settings(0) == StreamSettings(
        **common,
        memory="chain",
        batch_size=4,
        learning_rate=8.17943e-07,
        epsilon=6.24854e-07,
        hidden_size=16,
        pool_size=24,
        num_pools=10,
        viewport_size=6,
        base=1.5,
        seed=544624507,
    )
    assert laptop.settings(6) == StreamSettings(
        **common,
        memory="lstm",
        batch_size=64,
        learning_rate=2.69295e-06,
        epsilon=5.64469e-06,
        hidden_size=16,
        state_size=96,
        seed=3249400162,
    )


@pytest.mark.parametrize("task", get_args(PaperTask))
def test_committed_records_are_those_of_their_plan(task):
    folder = ROOT / "results" / "classification" / task
    if not folder.exists():
        pytest.skip(f"there are no records of {task} yet")
    plan = from_json(SweepPlan, json.loads((folder / "plan.json").read_text()))
    lines = Records(folder / RECORDS).read()
    assert len({line["run"] for line in lines}) == len(lines)
    for line in lines:
        # Settings that are newer than the records have their defaults.
        settings = add_defaults(StreamSettings, line["settings"])
        assert settings == to_json(plan.settings(line["run"]))
