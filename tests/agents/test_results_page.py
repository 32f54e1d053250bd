"""What docs/results.md says of agents in words is what the records say."""

import json
from pathlib import Path

import numpy as np
import pytest

from longpass._fields import to_json
from longpass.agents import StudyPlan, find_returns
from longpass.claims import learns
from longpass.figures import lstm_onset, rl
from longpass.figures.looks import LEARNED

AGENTS = Path(__file__).parents[2] / "results" / "agents"
STUDIES = ("onset", "returns")


@pytest.fixture(scope="module")
def runs():
    return find_returns(AGENTS, "steps")


def study_lines(study):
    return [
        json.loads(line) for line in (AGENTS / study / "records.jsonl").read_text().splitlines()
    ]


def by_difficulty(runs, env, series):
    """Whether agents learn, by difficulty."""
    found = {}
    for run in runs:
        place = lstm_onset.find_place(run.settings)
        if place is not None and place[:2] == (env, series):
            found.setdefault(place[2], []).append(learns(run))
    return found


def by_block(runs, env, series):
    """Whether agents learn, by block_every."""
    found = {}
    for run in runs:
        place = rl.find_place(run.settings)
        if place is not None and (place[0], place[2]) == (env, series):
            found.setdefault(place[1], []).append(learns(run))
    return found


def test_where_lstms_learn(runs):
    catch, maze = (by_difficulty(runs, env, "lstm") for env in ("cued-catch", "t-maze"))
    assert all(all(catch[trials]) and len(catch[trials]) >= 3 for trials in (0, 5, 20))
    assert all(all(maze[limbo]) and len(maze[limbo]) >= 3 for limbo in (0, 70, 140, 210))
    assert len(catch[40]) >= 6
    assert not any(catch[40])
    assert sum(maze[280]) > len(maze[280]) / 2


def test_lstms_by_the_length_of_gradients(runs):
    maze = by_block(runs, "t-maze", "lstm")
    assert min(len(found) for found in maze.values()) >= 3
    assert not any(maze[3])
    assert all(sum(maze[block]) > len(maze[block]) / 2 for block in (20, 100, 300))
    assert not any(any(found) for found in by_block(runs, "cued-catch", "lstm").values())


def test_what_lstms_earn_at_most_and_how_long_they_learn():
    lines = [line for study in STUDIES for line in study_lines(study)]
    lstms = [line for line in lines if line["settings"]["agent"]["network"]["memory"] == "lstm"]
    hard = [
        max(line["curve"]["return_100"])
        for line in lstms
        if line["settings"]["params"].get("reward_free_trials") == 40
    ]
    assert round(max(hard)) == 46
    paper = [line for line in lstms if line["settings"]["env"] != "sequence-recall"]
    assert max(line["optimiser_steps"] for line in paper) == 46_000
    # Whatever has not solved its world had the paper's first round.
    assert all(line["solved"] or line["steps"] >= 22e6 for line in lines)


def test_how_many_trials_each_memory_had():
    found = {}
    for task in ("cued-catch", "t-maze", "sequence-recall"):
        path = AGENTS.parent / "agents-search" / f"{task}.jsonl"
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        names = [line["settings"]["agent"]["network"]["memory"] for line in lines]
        for memory in ("chain", "lstm"):
            found.setdefault(memory, []).append(names.count(memory))
    assert found == {"chain": [43, 10, 26], "lstm": [21, 18, 29]}


def test_the_order_of_memories_in_sequence_recall(runs):
    found = {}
    for run in runs:
        place = rl.find_place(run.settings)
        if place is not None and place[0] == "sequence-recall":
            found.setdefault(place[1:], []).append(run.score)
    for block in (20, 300):
        chain, lstm, parallel = (found[block, name] for name in ("chain", "lstm", "parallel"))
        assert min(map(len, (chain, lstm, parallel))) >= 3
        assert min(chain) > max(*lstm, *parallel)
    assert np.mean(found[20, "lstm"]) == pytest.approx(np.mean(found[20, "parallel"]), rel=0.1)
    assert min(found[300, "lstm"]) > max(found[300, "parallel"])
    # With gradients over 300 steps a rollout is one slice.
    assert np.mean(found[300, "chain"]) == pytest.approx(3 / 4 * np.mean(found[20, "chain"]), 0.05)
    assert max(max(scores) for scores in found.values()) < 1.95


def test_how_soon_each_form_of_the_chain_is_read():
    """What docs/understand/conditioning.md says of `scripts/probe_reading.py`."""
    soon = {}
    for text in (AGENTS / "reading.jsonl").read_text().splitlines():
        line = json.loads(text)
        found = [updates for updates, accuracy in line["curve"] if accuracy >= 0.75]
        form = (line["embedding"], line["normalise"])
        soon.setdefault(form, {})[line["writer"], line["seed"]] = min(found, default=None)
    assert all(len(runs) == 6 for runs in soon.values())
    assert set(soon["sparse", "layer"].values()) == {100, 200}
    assert all(900 <= updates <= 1500 for updates in soon["plain", "none"].values())
    never = [run for form in soon for run, updates in soon[form].items() if updates is None]
    assert [writer for writer, _ in never] == ["learned"]
    assert None in soon["plain", "layer"].values()


def test_how_fast_the_writer_of_the_papers_form_may_learn():
    rates = {}
    for line in study_lines("writer-rates"):
        rate = line["settings"]["agent"]["hyper"]["writer_rate"]
        rates.setdefault(rate, []).append(line["return_500"])
    assert {len(returns) for returns in rates.values()} == {3}
    assert rates.pop(1.0) == pytest.approx([10] * 3, abs=0.3)
    assert set(rates) == {0.1, 0.01, 0.0}
    for returns in rates.values():
        assert returns == pytest.approx([15] * 3, abs=0.8)


def test_chains_that_learn_to_write_learn_cued_catch(runs):
    found = by_block(runs, "cued-catch", LEARNED)
    assert {block: len(learned) for block, learned in found.items()} == dict.fromkeys(
        (3, 20, 100, 300), 3
    )
    assert all(map(all, found.values()))
    maze = by_block(runs, "t-maze", LEARNED)
    assert [all(learned) for learned in maze.values()] == [True] * 4


def test_what_the_papers_form_learns_in_the_t_maze():
    solved, hard = {}, []
    for line in study_lines("paper-form"):
        params = line["settings"]["params"]
        if line["settings"]["agent"]["network"]["logit_scale"] == 2:
            solved[params["limbo_time"]] = line["solved"]
        elif params.get("limbo_time") == 280:
            hard.append(line["return_500"])
    assert solved == {0: True, 70: True, 140: False, 210: True, 280: False}
    assert len(hard) == 6
    assert sorted(hard)[-1] == pytest.approx(0.5, abs=0.005)
    assert sorted(hard)[-2] < -0.1
    search = study_lines("paper-search")
    assert len(search) == 19
    drawn = [to_json(one.run) for one in StudyPlan("paper-search", runs=12).make_runs()]
    assert all(line["settings"] in drawn for line in search)
    learned = [line for line in search if line["return_500"] >= 0.9 * line["return_max"]]
    assert [line["settings"]["env"] for line in learned] == ["t-maze"]
