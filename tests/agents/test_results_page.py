"""What docs/results.md says of agents in words is what the records say."""

import json
from pathlib import Path

import numpy as np
import pytest

from longpass.agents import RunSettings, StudyPlan, StudyRun, find_returns, has_defaults
from longpass.claims import learns
from longpass.figures import lstm_onset, rl
from longpass.figures.looks import FORGET, LEARNED

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


def first_learned(runs, memory, trials):
    """After how many steps agents that learn Cued Catch first earn enough."""
    found = []
    for run in runs:
        if lstm_onset.find_place(run.settings) == ("cued-catch", memory, trials) and learns(run):
            steps, returns = run.curves[0]
            found.append(steps[np.argmax(returns >= 0.9 * run.settings.max_return())])
    return found


def test_lstms_with_shorter_times_rise_and_fall_back():
    """They have what were the defaults before."""
    ends = []
    for study in STUDIES:
        for line in study_lines(study):
            run = RunSettings.from_json(line["settings"])
            if (
                run.env == "cued-catch"
                and run.agent.network.longest_time == 300
                and run.params.reward_free_trials == 40
                and run.agent.learner.block_every == 300
            ):
                ends.append((max(line["curve"]["return_100"]), line["return_500"]))
    assert len(ends) == 6
    risen = sorted(ends)[1:]
    assert 36 < min(risen)[0] < max(risen)[0] <= 45
    assert max(end for _, end in risen) < 36.5


def test_where_lstms_learn(runs):
    catch, maze = (by_difficulty(runs, env, "lstm") for env in ("cued-catch", "t-maze"))
    assert all(all(catch[trials]) and len(catch[trials]) >= 3 for trials in (0, 5, 10))
    assert all(all(maze[limbo]) and len(maze[limbo]) >= 3 for limbo in (0, 70, 140, 210))
    for found in (catch[20], catch[40], maze[280]):
        assert sum(found) > len(found) / 2
    for trials in catch:
        firsts = {memory: first_learned(runs, memory, trials) for memory in ("chain", "lstm")}
        assert max(firsts["chain"]) < min(firsts["lstm"])
    chains = [by_difficulty(runs, env, "chain") for env in ("cued-catch", "t-maze")]
    assert all(map(all, (*chains[0].values(), *chains[1].values())))


def test_where_lstms_with_a_forget_bias_of_1_learn(runs):
    catch, maze = (by_difficulty(runs, env, FORGET) for env in ("cued-catch", "t-maze"))
    assert {len(found) for found in maze.values()} == {3}
    assert min(map(len, catch.values())) >= 2
    assert not any(map(any, catch.values()))
    assert all(map(all, (maze[0], maze[70])))
    assert sum(maze[140]) == 1
    assert not any((*maze[210], *maze[280]))


def test_lstms_with_a_torso_that_learns(runs):
    found = {"cued-catch": [], "t-maze": []}
    for run in runs:
        network = run.settings.agent.network
        changes = {"writer": "learned"}
        if network.memory == "lstm" and has_defaults(run.settings, changes=changes):
            found[run.settings.env].append(run)
    assert [run.score < 36 for run in found["cued-catch"]] == [True] * 3
    assert sorted(learns(run) for run in found["t-maze"]) == [False, True, True]


def test_lstms_by_the_length_of_gradients(runs):
    maze = by_block(runs, "t-maze", "lstm")
    assert min(map(len, maze.values())) >= 5
    assert all(sum(maze[block]) > len(maze[block]) / 2 for block in (100, 300))
    assert [(sum(maze[block]), len(maze[block])) for block in (3, 20)] == [(1, 5), (2, 5)]
    catch = by_block(runs, "cued-catch", "lstm")
    assert min(map(len, catch.values())) >= 5
    assert sum(catch[300]) > len(catch[300]) / 2
    assert not any((*catch[3], *catch[20], *catch[100]))
    ends = [
        run.score
        for run in runs
        if (place := rl.find_place(run.settings)) is not None
        and (place[0], place[2]) == ("cued-catch", "lstm")
        and place[1] < 300
    ]
    assert sum(35 < end < 46 for end in ends) > len(ends) / 2


def test_how_long_lstms_learn():
    lines = [line for study in STUDIES for line in study_lines(study)]
    steps = {}
    for line in lines:
        agent = line["settings"]["agent"]
        if agent["network"]["memory"] == "lstm":
            place = line["settings"]["env"], agent["learner"]["block_every"]
            steps[place] = max(steps.get(place, 0), line["optimiser_steps"])
    catch = {3: 46_000, 20: 46_000, 100: 27_600, 300: 9_200}
    assert {block: steps["cued-catch", block] for block in catch} == catch
    assert {steps["t-maze", block] for block in catch} == {36_680}
    # Whatever has not solved its world had the paper's first round.
    assert all(line["solved"] or line["steps"] >= 22e6 for line in lines)


def test_the_order_of_memories_in_sequence_recall(runs):
    found = {}
    for run in runs:
        place = rl.find_place(run.settings)
        if place is not None and place[0] == "sequence-recall":
            found.setdefault(place[1:], []).append(run.score)
    means = {place: np.mean(scores) for place, scores in found.items()}
    for block in (20, 300):
        kinds = [found[block, name] for name in ("chain", "lstm", "parallel")]
        assert min(map(len, kinds)) >= 5
        assert means[block, "chain"] > max(means[block, "lstm"], means[block, "parallel"])
    for other in ("lstm", "parallel"):
        assert 1.8 < means[20, "chain"] / means[20, other] < 2.3
    assert means[300, "lstm"] > 0.85 * means[300, "chain"]
    assert min(found[300, "lstm"]) > max(found[300, "parallel"])
    assert means[20, "lstm"] == pytest.approx(means[20, "parallel"], rel=0.1)
    # With gradients over 300 steps a rollout is one slice.
    assert means[300, "chain"] == pytest.approx(0.9 * means[20, "chain"], 0.03)


def test_what_the_entropys_weight_does_for_the_chain_in_sequence_recall():
    found = {}
    for line in study_lines("returns"):
        run = RunSettings.from_json(line["settings"])
        if run.env == "sequence-recall" and run.agent.network.memory == "chain":
            hyper, block = run.agent.hyper, run.agent.learner.block_every
            place = block, hyper.entropy_cost, hyper.entropy_halvings_per_million_steps
            found.setdefault(place, []).append(round(line["return_500"], 2))
    assert (min(found[20, 0.03, 0.1]), max(found[20, 0.03, 0.1])) == (1.88, 2.01)
    assert len(found[20, 0.03, 0.1]) == 5
    assert sorted(found[20, 0.01, 0.0]) == [1.86, 1.91, 1.92]
    assert found[20, 0.03, 0.0] == [1.89]
    longer = AGENTS.parent / "recall-longer" / "records.jsonl"
    ends = [
        (round(line["return_500"], 2), round(line["steps"] / 1e6))
        for line in map(json.loads, longer.read_text().splitlines())
    ]
    assert ends == [(1.96, 30), (2.01, 27), (2.01, 27)]


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


def test_what_random_settings_do():
    found, mazes, recall = {}, [], {}
    plan = StudyPlan("search", runs=12, steps=4e6, optimiser_steps=2000, enough_steps=1e6)
    planned = set(plan.make_runs())
    for line in study_lines("search"):
        one = StudyRun.from_json(line)
        if one not in planned:
            continue
        run, curve = one.run, line["curve"]
        network = run.agent.network
        if (run.env, network.memory) == ("t-maze", "chain"):
            mazes.append((line["return_500"], max(curve["return_100"])))
        if run.env == "sequence-recall":
            recall.setdefault(run.seed, {})[network.memory] = line["return_500"], network.normalise
        early = np.array(curve["steps"]) <= 4e6
        end = np.array(curve["return_100"])[early][-1] / line["return_max"]
        one = (end >= 0.9, network.normalise, line["return_500"])
        found.setdefault((run.env, network.memory), []).append(one)
    learned = {place: sum(one[0] for one in runs) for place, runs in found.items()}
    assert learned["cued-catch", "chain"] == 4
    assert learned["cued-catch", "lstm"] == learned["t-maze", "lstm"] == 1
    assert learned["t-maze", "chain"] == 0
    assert all(last < -0.95 for last, _ in mazes)
    assert sorted(best for _, best in mazes)[-2] < -0.7 < max(mazes, key=lambda one: one[1])[1]
    for learns_it, normalise, last in found["cued-catch", "chain"]:
        assert learns_it == (normalise == "layer")
        assert learns_it or last == pytest.approx(50, abs=1)
    assert {len(ends) for ends in found.values()} == {12}
    assert len(found) == 7
    above = {
        other: sum(ends["chain"][0] > ends[other][0] for ends in recall.values())
        for other in ("lstm", "parallel")
    }
    assert above == {"lstm": 11, "parallel": 7}
    assert not any(learned["sequence-recall", memory] for memory in ("chain", "lstm", "parallel"))
    chains = sorted((ends["chain"] for ends in recall.values()), key=lambda end: end[0])
    assert [normalise for _, normalise in chains[-3:]] == ["layer"] * 3


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
    assert {block: sum(learned) for block, learned in maze.items()} == {3: 3, 20: 3, 100: 3, 300: 2}
    (fails,) = (
        line["curve"]
        for line in study_lines("learned-writer")
        if line["settings"]["env"] == "t-maze" and line["return_500"] < 0
    )
    goals = next(
        steps
        for steps, score in zip(fails["steps"], fails["return_100"], strict=True)
        if score > -0.4
    )
    assert 16e6 < goals < 17e6


def test_how_long_the_papers_form_stays_at_chance_on_cued_catch():
    (line,) = (
        line
        for line in study_lines("paper-form")
        if line["settings"]["params"].get("reward_free_trials") == 40 and line["steps"] > 1e8
    )
    assert (line["steps"] // 10**6, line["optimiser_steps"] // 1000) == (200, 416)
    assert line["return_500"] == pytest.approx(30, abs=0.1)
    assert f"{max(line['curve']['return_100']):.1f}" == "31.1"


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
    drawn = [one.run for one in StudyPlan("paper-search", runs=12).make_runs()]
    assert all(RunSettings.from_json(line["settings"]) in drawn for line in search)
    learned = [line for line in search if line["return_500"] >= 0.9 * line["return_max"]]
    assert [line["settings"]["env"] for line in learned] == ["t-maze"]
