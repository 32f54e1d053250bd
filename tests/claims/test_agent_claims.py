"""Verdicts about agents of which the answer is known."""

import dataclasses
import functools

import numpy as np
import pytest

from longpass.agents import STUDY, RunSettings, StudyPlan, find_returns
from longpass.claims import AGENTS, evaluate_agents
from longpass.claims._agents import LEAST_AGENTS
from longpass.cli._claims import Claims
from longpass.records import RECORDS, Records, write_json

IDS = [
    "cued-catch-chain",
    "cued-catch-lstm",
    "cued-catch-no-lstm",
    "t-maze-chain",
    "t-maze-lstm",
    "t-maze-no-lstm",
    "sequence-recall-order",
    "lstm-onset-cued-catch",
    "lstm-onset-t-maze",
    "forget-bias-onset-cued-catch",
    "forget-bias-onset-t-maze",
    "paper-form",
]


def as_the_paper_says(run: RunSettings) -> bool:
    """Chains learn everything, LSTMs what is easy, parallel filters nothing."""
    easy = {"cued-catch": ("reward_free_trials", 10), "t-maze": ("limbo_time", 140)}
    memory = run.agent.network.memory
    if memory != "lstm" or run.env not in easy:
        return memory == "chain"
    name, most = easy[run.env]
    return getattr(run.params, name) <= most


@functools.cache
def make_runs(name, runs):
    return StudyPlan(name, runs=runs).make_runs()


def write_studies(
    folder, learns=as_the_paper_says, runs=4, change=lambda run: run, edit=lambda line: line
):
    """Made-up records of all agents of the figures."""
    for name in ("returns", "onset", "forget-bias", "paper-form"):
        lines = []
        for one in make_runs(name, runs):
            best = one.run.max_return()
            assert best is not None
            end = (0.97 if learns(one.run) else 0.2) * best + 0.01 * (one.run.seed % 1000)
            curve = {
                "episodes": [100, 5000],
                "steps": [7000, 400_000],
                "optimiser_steps": [5, 300],
                "return_100": [0.0, end],
            }
            line = {"event": "result", **one.to_json(), "curve": curve, "solved": False}
            line |= {"name": one.name, "seconds": 1.0, "return_500": end, "return_max": best}
            line |= {"diverged": None, "settings": change(one.run).to_json()}
            lines.append(edit(line))
        (folder / name).mkdir(parents=True, exist_ok=True)
        write_json(folder / name / STUDY, {"name": name})
        Records(folder / name / RECORDS).append(lines)
    return folder


def verdicts(findings):
    return {finding.claim.id: finding.verdict for finding in findings}


def test_the_help_names_how_many_agents_a_claim_needs():
    assert f"({LEAST_AGENTS} agents)" in str(Claims.__doc__)


def test_the_ids_are_those_of_the_list():
    assert [claim.id for claim in AGENTS] == IDS


def test_claims_hold_where_agents_are_as_the_paper_says(tmp_path):
    findings = evaluate_agents(write_studies(tmp_path, runs=6))
    assert verdicts(findings) == dict.fromkeys(IDS, "holds")
    by_id = {finding.claim.id: finding for finding in findings}
    # In both studies; in the T-maze agents of equal seeds are the same agent.
    assert by_id["cued-catch-chain"].n == (4 + 1) * 6
    assert by_id["t-maze-chain"].n == 4 * 6
    assert by_id["cued-catch-chain"].weakest.value == 1.0
    # Five difficulties, and the LSTMs of the figure of returns at the hardest.
    assert by_id["lstm-onset-t-maze"].n == (5 + 1) * 6
    assert by_id["forget-bias-onset-t-maze"].n == 5 * 6
    assert by_id["sequence-recall-order"].weakest.value == 1.0


def test_claims_fail_where_agents_are_the_opposite(tmp_path):
    findings = evaluate_agents(
        write_studies(tmp_path, lambda run: not as_the_paper_says(run), runs=6)
    )
    assert verdicts(findings) == dict.fromkeys(IDS, "fails")


def test_three_agents_in_each_panel_are_enough_where_panels_are_joined(tmp_path):
    three = verdicts(evaluate_agents(write_studies(tmp_path / "3", runs=3)))
    few = dict.fromkeys(["sequence-recall-order", "paper-form"], "too few")
    assert three == dict.fromkeys(IDS, "holds") | few
    one = verdicts(evaluate_agents(write_studies(tmp_path / "1", runs=1)))
    # There are five chains on Cued Catch then: four panels, and the figure by difficulty.
    assert one == dict.fromkeys(IDS, "too few") | {"cued-catch-chain": "holds"}


@pytest.mark.parametrize(("memory", "block_every"), [("lstm", 300), ("parallel", 20)])
def test_an_order_holds_if_every_comparison_does(tmp_path, memory, block_every):
    def learns(run):
        one = run.agent.network.memory, run.agent.learner.block_every
        return as_the_paper_says(run) or one == (memory, block_every)

    def measure(name, learns):
        findings = evaluate_agents(write_studies(tmp_path / name, learns, runs=6))
        return next(one for one in findings if one.claim.id == "sequence-recall-order")

    assert measure("all", as_the_paper_says).verdict == "holds"
    finding = measure("all but one", learns)
    assert (finding.verdict, finding.weakest.value) == ("too few", 0.5)
    assert finding.n == 3 * 2 * 6  # every agent once


def test_lstms_are_judged_by_their_longest_gradients(tmp_path):
    def learns(run):
        return as_the_paper_says(run) or run.agent.learner.block_every == 300

    findings = evaluate_agents(write_studies(tmp_path, learns, runs=6))
    by_id = {finding.claim.id: finding for finding in findings}
    for name in ("cued-catch-lstm", "t-maze-lstm"):
        assert (by_id[name].verdict, by_id[name].weakest.value) == ("too few", 0.0)
    for name in ("cued-catch-no-lstm", "t-maze-no-lstm"):
        assert (by_id[name].verdict, by_id[name].weakest.value) == ("fails", 0.0)


@pytest.mark.parametrize("episodes", [True, False])
def test_agents_that_diverged_learn_nothing(tmp_path, episodes):
    """However much they had earned, and also if none of their episodes had ended."""

    def diverge(line):
        curve = line["curve"] if episodes else {name: [] for name in line["curve"]}
        return line | {"diverged": 7, "curve": curve}

    folder = write_studies(tmp_path, lambda run: True, runs=5, edit=diverge)
    by_id = {finding.claim.id: finding for finding in evaluate_agents(folder)}
    assert (by_id["cued-catch-chain"].n, by_id["cued-catch-chain"].verdict) == (25, "fails")
    assert by_id["t-maze-no-lstm"].verdict == "holds"
    assert by_id["sequence-recall-order"].weakest.value == 0.5  # all are alike


@pytest.mark.parametrize("learner", [{"rollout": 150}, {"epochs": 2}])
def test_agents_with_other_settings_do_not_count(tmp_path, learner):
    def change(run):
        settings = {"slices": 1, "block_every": min(run.agent.learner.block_every, 150)}
        changed = dataclasses.replace(run.agent.learner, **settings | learner)
        return dataclasses.replace(run, agent=dataclasses.replace(run.agent, learner=changed))

    folder = write_studies(tmp_path, runs=2, change=change)
    assert find_returns(folder)
    assert {finding.n for finding in evaluate_agents(folder)} == {0}


def test_agents_that_are_the_same_in_several_panels_count_once(tmp_path):
    def same_seeds(run):
        return dataclasses.replace(run, seed=run.seed % 1000)

    apart = evaluate_agents(write_studies(tmp_path / "apart", runs=3))
    same = evaluate_agents(write_studies(tmp_path / "same", runs=3, change=same_seeds))
    for findings, chains in ((apart, 4 * 3), (same, 3)):
        by_id = {finding.claim.id: finding for finding in findings}
        assert by_id["t-maze-chain"].n == chains


@pytest.mark.parametrize("end", [None, "result", "diverged"])
def test_single_runs_count_once_training_is_complete(tmp_path, end):
    run = make_runs("returns", 1)[0].run
    write_json(tmp_path / "settings.json", {"kind": "agent", **run.to_json()})
    counts = {"updates": 9, "steps": 9, "optimiser_steps": 9, "episodes": 100}
    line = {"event": "progress", **counts, "return_100": 60.0, "return_3000": 60.0}
    lines = [{"event": "begin"}, line] + ([{"event": end, "updates": 9}] if end else [])
    Records(tmp_path / RECORDS).append(lines)
    (chains, *_) = evaluate_agents(tmp_path)
    assert chains.n == (end is not None)
    if end:
        assert chains.weakest.value == (end == "result")


def test_a_folder_without_agents_decides_nothing(tmp_path):
    assert set(verdicts(evaluate_agents(tmp_path)).values()) == {"too few"}
    with pytest.raises(
        ValueError, match=r"agents is .*none.*: it must be a folder of `longpass st"
    ):
        evaluate_agents(tmp_path / "none")


def test_the_score_is_the_mean_of_the_last_returns(tmp_path):
    (run, *_) = find_returns(write_studies(tmp_path, runs=1))
    assert run.score == run.curves[0][1][-1]
    np.testing.assert_array_equal(run.sample(np.array([100.0, 5000.0, 6000.0]))[2:], np.nan)
