"""Verdicts about runs of which the answer is known."""

import json
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from longpass.claims import (
    CLASSIFICATION,
    Claim,
    Estimate,
    Finding,
    Measurement,
    decide,
    evaluate,
    evaluate_classification,
)
from longpass.records import RECORDS, Line, Records
from longpass.streams import CHANCE, PaperTask, SweepPlan, make_task, read_results
from tests.helpers import run, run_longpass

TASKS = get_args(PaperTask)
TRUNCATIONS = SweepPlan().truncations
IDS = [
    "chain-short-truncation",
    "parallel-short-truncation",
    "lstm-needs-long-truncation",
    "chain-above-parallel",
    "filters-drop-with-few-updates",
]


def paper_accuracy(memory: str, truncation: int, chance: float) -> float:
    """What the paper claims: filters learn with few steps, LSTMs with many."""
    if memory == "lstm":
        return 0.98 if truncation >= 128 else chance
    return {"chain": 0.95, "parallel": 0.85}[memory] - 0.04 * np.log2(truncation)


def opposite_accuracy(memory: str, truncation: int, chance: float) -> float:
    """The opposite of it all."""
    if memory == "lstm":
        return 0.98 if truncation <= 16 else chance
    return {"chain": 0.4, "parallel": 0.5}[memory] + 0.04 * np.log2(truncation)


def make_lines(accuracy=paper_accuracy, tasks=TASKS, runs=12, diverged=False) -> list[Line]:
    """Results of a sweep: `runs` per cell, spread around an accuracy."""
    rng = np.random.default_rng(0)
    return [
        {
            "event": "result",
            "kind": "stream",
            "settings": {
                "task": task,
                "memory": memory,
                "truncation": truncation,
                "batch_size": 4 * 2 ** (seed % 3),
                "symbols": 40_000_000,
                "seed": seed,
            },
            "accuracy": None
            if diverged
            else accuracy(memory, truncation, CHANCE[task]) + rng.uniform(-0.02, 0.02),
        }
        for task in tasks
        for memory in ("chain", "parallel", "lstm")
        for truncation in TRUNCATIONS
        for seed in range(runs)
    ]


def write(folder: Path, lines: list[Line]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    Records(folder / RECORDS).append(lines)
    return folder


def verdicts(findings: list[Finding]) -> dict[str, str]:
    return {finding.claim.id: finding.verdict for finding in findings}


def test_the_ids_are_those_of_the_list():
    assert [claim.id for claim in CLASSIFICATION] == IDS


def test_claims_hold_where_runs_are_as_the_paper_says(tmp_path):
    findings = evaluate_classification(write(tmp_path, make_lines()))
    assert verdicts(findings) == dict.fromkeys(IDS, "holds")
    # Runs of each: two memories at 3 truncations, LSTMs at 6, two memories at all 8.
    assert [finding.n for finding in findings] == [216, 216, 216, 576, 576]
    assert [one.task for one in findings[0].tasks] == list(TASKS)
    # The quantiles of runs around 0.91, 0.87, 0.83 (chains), and around chance (LSTMs).
    assert findings[0].tasks[0].value == pytest.approx(0.915 - 0.265, abs=0.02)
    assert findings[2].tasks[0].value == 1.0
    assert findings[3].tasks[0].value == 1.0


def test_claims_fail_where_runs_are_the_opposite(tmp_path):
    findings = evaluate_classification(write(tmp_path, make_lines(opposite_accuracy)))
    assert verdicts(findings) == dict.fromkeys(IDS, "fails")


def test_a_claim_fails_if_it_does_on_one_task(tmp_path):
    """Whether it holds on others, or they have no runs."""
    lines = make_lines(tasks=TASKS[:1]) + make_lines(opposite_accuracy, TASKS[1:2])
    for finding in evaluate_classification(write(tmp_path, lines)):
        assert [one.verdict for one in finding.tasks] == ["holds", "fails", "too few"]
        assert finding.verdict == "fails"
        assert finding.weakest is finding.tasks[1]


def test_a_claim_needs_runs_on_every_task(tmp_path):
    for finding in evaluate_classification(write(tmp_path, make_lines(tasks=TASKS[1:]))):
        assert [one.verdict for one in finding.tasks] == ["too few", "holds", "holds"]
        assert finding.verdict == "too few"
        assert (finding.tasks[0].n, finding.tasks[0].value) == (0, None)


@pytest.mark.parametrize(
    ("runs", "few"), [(1, set(IDS)), (9, {"chain-above-parallel"}), (10, set())]
)
def test_every_group_needs_ten_runs(tmp_path, runs, few):
    """Groups are single cells in `chain-above-parallel`, and at least two cells elsewhere."""
    findings = evaluate_classification(write(tmp_path, make_lines(runs=runs)))
    assert {name for name, verdict in verdicts(findings).items() if verdict == "too few"} == few


def test_a_folder_without_results_decides_nothing(tmp_path):
    write(tmp_path, [{"event": "begin"}, {"event": "result", "kind": "agent", "settings": {}}])
    for finding in evaluate_classification(tmp_path):
        assert (finding.verdict, finding.n) == ("too few", 0)
        assert (finding.weakest.value, finding.weakest.interval) == (None, None)


def test_a_run_that_diverged_has_accuracy_0(tmp_path):
    results = read_results(write(tmp_path, make_lines(diverged=True)))
    assert set(results["accuracy"]) == {0.0}


def test_runs_that_are_all_equal_decide_against_a_difference(tmp_path):
    findings = evaluate_classification(write(tmp_path, make_lines(diverged=True)))
    # Newcombe's interval of two proportions of 0 has a width, others have none.
    equal = dict.fromkeys(IDS, "fails") | {"lstm-needs-long-truncation": "too few"}
    assert verdicts(findings) == equal


def test_runs_are_found_in_all_folders_and_counted_once(tmp_path):
    lines = make_lines()
    for task in TASKS:
        write(tmp_path / task, [line for line in lines if line["settings"]["task"] == task])
    apart = evaluate_classification(tmp_path)
    write(tmp_path / "again", lines)
    assert evaluate_classification(tmp_path) == apart
    assert len(read_results(tmp_path)) == len(lines)


def test_the_number_of_updates_is_that_of_a_complete_training(tmp_path):
    (line, *_) = make_lines(diverged=True)
    (row,) = read_results(write(tmp_path, [line | {"updates": 3}])).rows(named=True)
    assert row["updates"] == 40_000_000 // (2 * 4)


@pytest.mark.parametrize("task", TASKS)
def test_chance_is_one_of_the_classes(task):
    assert CHANCE[task] == 1 / len(make_task(task).classes)


@pytest.mark.parametrize(
    ("groups", "interval", "verdict"),
    [
        ((10, 10), (0.51, 0.9), "holds"),
        ((10, 9), (0.51, 0.9), "too few"),
        ((10, 10), (0.5, 0.9), "too few"),
        ((10, 10), (0.1, 0.5), "fails"),
        ((10, 10), (0.1, 0.51), "too few"),
        ((10, 10), (0.5, 0.5), "fails"),
        ((10, 10), None, "too few"),
        ((9, 10), (0.1, 0.2), "too few"),
    ],
)
def test_the_interval_decides(groups, interval, verdict):
    assert decide(Measurement(groups, Estimate(0.6, interval)), 0.5) == verdict


def test_a_claim_about_other_runs_needs_only_a_measure():
    """As those about agents will: any runs, any tasks."""

    def measure(runs: dict[str, float], task: str) -> Measurement:
        return Measurement((10,), Estimate(runs[task], (runs[task] - 1, runs[task] + 1)))

    claim = Claim("id", "A text.", "a number", 0.0, ("a", "b"), measure)
    finding = evaluate(claim, {"a": 3.0, "b": 2.0})
    assert (finding.verdict, finding.weakest.task, finding.n) == ("holds", "b", 20)


def test_the_command_prints_one_object(capsys, tmp_path):
    write(tmp_path, make_lines(tasks=("two-markers",)))
    code, out, err = run(capsys, "claims", "--records", tmp_path, "--json")
    assert code == 0, err
    claims = json.loads(out)["claims"]
    assert [claim["id"] for claim in claims][: len(IDS)] == IDS
    claims = claims[: len(IDS)]
    keys = {"n", "value", "interval", "verdict"}
    for claim in claims:
        assert claim.keys() == {"id", "text", "tasks"} | keys
        assert claim["verdict"] == "too few"
        first, *others = claim["tasks"]
        assert first.keys() == {"task"} | keys
        assert first["verdict"] == "holds"
        assert first["interval"][0] <= first["value"] <= first["interval"][1]
        for other in others:
            assert (other["n"], other["value"], other["interval"]) == (0, None, None)
        assert (claim["n"], claim["value"]) == (first["n"], None)


def test_the_command_prints_a_table(tmp_path):
    write(tmp_path, make_lines(tasks=("two-markers",)))
    code, out, err = run_longpass("claims", "--records", tmp_path)
    assert code == 0, err
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) <= 80
    for name in (*IDS, *TASKS, "holds", "too few"):
        assert name in out
    # An id or a verdict that does not fit would end with this.
    assert "…" not in out


def test_a_folder_that_is_not_there_is_named(capsys, tmp_path):
    code, out, err = run(capsys, "claims", "--records", tmp_path / "none", "--json")
    assert (code, out) == (1, "")
    assert f"records is '{tmp_path / 'none'}': it must be a folder" in err
