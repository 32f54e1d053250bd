"""Records become runs: all of them, once each, whatever stands in the files."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from longpass.claims import evaluate_agents, evaluate_classification
from longpass.report import MOST_POINTS, Store
from longpass.report._activity import Activity, count_planned, is_held
from longpass.report._payload import pack_store
from longpass.report._places import evaluate_claims, place_runs
from longpass.report._tail import Tail
from longpass.streams import FixedPlan, SweepPlan
from tests.report.made_up import (
    agent_settings,
    append,
    progress_line,
    stream_line,
    write_agent,
    write_all,
    write_hostile,
    write_population,
    write_sweep,
)

ROOT = Path(__file__).parent.parent.parent


def read(folder: Path) -> Store:
    """A store of a folder, read once."""
    store = Store([folder])
    store.refresh()
    return store


def test_a_tail_reads_every_byte_once(tmp_path):
    path = tmp_path / "records.jsonl"
    append(path, {"n": 0}, '{"n": ')
    tail = Tail(path)
    assert tail.read().records == [{"n": 0}]
    assert tail.place == len('{"n": 0}\n')
    assert tail.read().records == []  # the line is still being written
    append(path, "1}\n", "bad\n", {"n": 2})
    new = tail.read()
    assert (new.records, new.bad, new.anew) == ([{"n": 1}, {"n": 2}], 1, False)
    assert tail.place == path.stat().st_size


def test_a_tail_does_not_read_again_what_it_has_read(tmp_path):
    """What was read may be overwritten in place without anybody noticing."""
    path = tmp_path / "records.jsonl"
    append(path, {"n": 0}, {"n": 1})
    tail = Tail(path)
    tail.read()
    with path.open("r+b") as file:
        file.write(b'{"n": 9}')
    append(path, {"n": 2})
    assert tail.read().records == [{"n": 2}]


@pytest.mark.parametrize("change", ["shorter", "replaced"])
def test_a_tail_begins_anew_if_the_file_was_cut_or_replaced(tmp_path, change):
    path = tmp_path / "records.jsonl"
    append(path, {"n": 0}, {"n": 1})
    tail = Tail(path)
    tail.read()
    if change == "shorter":
        path.write_text('{"n": 5}\n')
    else:
        append(tmp_path / "new", {"n": 5}, {"n": 6}, {"n": 7})
        (tmp_path / "new").replace(path)
    new = tail.read()
    assert new.anew
    assert new.records[0] == {"n": 5}


def test_runs_of_all_forms_are_found(tmp_path):
    write_all(tmp_path)
    pairs = [[1, -0.1], [2, 0.3]]
    other = {"task": "recall", "core": "lstm", "seed": 3, "return": 0.4, "curve": pairs}
    append(tmp_path / "sb3.jsonl", other)
    study = tmp_path / "agents" / "study"
    curve = {"steps": [1, 2], "episodes": [3, 4], "return_100": [0.1, 0.2]}
    line = {"event": "result", "kind": "agent", "settings": agent_settings(seed=9), "steps": 2}
    append(study / "records.jsonl", line | {"curve": curve, "return_3000": 0.2, "solved": False})
    (study / "study.json").write_text('{"name": "made-up"}')
    store = read(tmp_path)
    sources = [run.source for run in store.runs.values()]
    assert {one: sources.count(one) for one in set(sources)} == {
        "sweep": 36,
        "folder": 8,
        "population": 1,
        "study": 1,
        "other": 1,
    }
    assert not store.notes()
    by_source = {run.source: run for run in store.runs.values()}
    assert by_source["other"].memory == "lstm"
    assert by_source["other"].ys == [-0.1, 0.3]
    assert by_source["study"].episodes == [3, 4]
    assert by_source["sweep"].xs[-1] == 1e8


def test_a_run_that_was_resumed_has_one_curve(tmp_path):
    write_agent(tmp_path / "run", agent_settings(), [0.1, 0.2, 0.3])
    path = tmp_path / "run" / "records.jsonl"
    append(path, {"event": "resume", "updates": 80}, progress_line(2, 0.25), progress_line(3, 0.5))
    append(path, progress_line(4, None))
    (run,) = read(tmp_path).runs.values()
    assert run.ys == [0.1, 0.25, 0.5]
    assert run.steps == 2400 * 160
    assert run.state == "unfinished"
    assert run.recent_rate() == pytest.approx(48_000)


def test_a_look_tells_only_what_changed(tmp_path):
    write_sweep(tmp_path / "sweep")
    store = read(tmp_path)
    version = store.version
    assert not store.refresh()
    assert pack_store(store, version)["runs"]["count"] == 0
    append(tmp_path / "sweep" / "records.jsonl", stream_line(0.5, seed=77))
    write_agent(tmp_path / "new", agent_settings(), [0.1])
    assert store.refresh()
    change = pack_store(store, version)
    assert change["runs"]["count"] == 2
    assert sorted(change["runs"]["columns"]["seed"][0]) == [0, 77]
    (tmp_path / "new" / "records.jsonl").unlink()
    assert store.refresh()
    assert pack_store(store, change["version"])["removed"] == [
        (tmp_path / "new" / "records.jsonl").as_posix()
    ]


def test_places_that_are_found_later_come_without_the_runs(tmp_path):
    write_agent(tmp_path / "agents" / "one", agent_settings(seed=1), [-1.0, 0.5])
    write_agent(tmp_path / "agents" / "two", agent_settings(pool_size=7), [-1.0, 0.5])
    store = read(tmp_path)
    version = store.version
    place_runs(store)
    # A page that has the runs gets the places of the one that has some.
    change = pack_store(store, version)
    assert change["runs"]["count"] == 0
    placed = change["placed"]
    assert placed["ids"] == [(tmp_path / "agents" / "one" / "records.jsonl").as_posix()]
    assert placed["places"][0][0]["rl"] == ("t-maze", "3", "chain")
    assert placed["best"][0] == [pytest.approx(0.612, abs=1e-3)]
    assert pack_store(store, change["version"])["placed"]["ids"] == []
    # A page that has not been given them gets them with their places.
    whole = pack_store(store)
    assert (whole["runs"]["count"], whole["placed"]["ids"]) == (2, [])
    values, rows = whole["runs"]["places"]
    assert sorted("rl" in values[row] for row in rows) == [False, True]


def test_many_runs_come_in_parts(tmp_path):
    write_sweep(tmp_path / "sweep")
    store = read(tmp_path)
    version, seen = 0, []
    for _ in range(10):
        change = pack_store(store, version, most=10)
        values, at = change["runs"]["columns"]["id"]
        seen += [values[place] for place in at]
        version = change["version"]
        if not change["more"]:
            break
    assert len(seen) == len(set(seen)) == 36
    assert version == store.version


def test_a_file_that_shrinks_is_read_again(tmp_path):
    path = tmp_path / "sweep" / "records.jsonl"
    append(path, *(stream_line(seed=n) for n in range(5)))
    store = read(tmp_path)
    assert len(store.runs) == 5
    path.write_text(json.dumps(stream_line(seed=9)) + "\n")
    store.refresh()
    assert [run.seed for run in store.runs.values()] == [9]


def test_hostile_records_are_data_or_skipped_with_a_note(tmp_path):
    store = read(write_hostile(tmp_path))
    place_runs(store)
    (note,) = store.notes()
    # Settings that are none; three objects without content; three lines that are no object.
    assert "7 of 16 lines are not runs" in note
    text = json.dumps(pack_store(store), allow_nan=False)
    assert "<script>alert(1)" in text  # data, which the page must show as text
    long = next(run for run in store.runs.values() if len(run.xs) == 1_000_000)
    packed = pack_store(store)["runs"]
    assert max(packed["points"]) == len(long.xs)
    assert max(packed["lengths"]) == MOST_POINTS
    gaps = next(run for run in store.runs.values() if run.seed == 7)
    assert gaps.ys == [0.5]
    scores = {run.seed: run.score for run in store.runs.values() if run.kind == "stream"}
    assert scores[1] is None
    assert scores[2] == 0.0
    assert scores[4] is None
    assert evaluate_claims(store) is not None


@pytest.mark.parametrize("name", ["truncation", "symbols"])
def test_a_run_without_a_setting_is_listed_and_nothing_is_claimed_of_it(tmp_path, name):
    """One flipped bit is enough for that."""
    good, damaged = stream_line(seed=0), stream_line(seed=1)
    damaged["settings"]["x" + name[1:]] = damaged["settings"].pop(name)
    append(tmp_path / "records.jsonl", good, damaged)
    store = read(tmp_path)
    assert len(store.runs) == 2
    assert evaluate_claims(store)


def test_names_that_are_not_text_are_shown(tmp_path):
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe"))
    append(folder / "records.jsonl", stream_line())
    (run,) = read(tmp_path).runs.values()
    assert run.folder.endswith("��")
    json.dumps(pack_store(read(tmp_path))["runs"]).encode()


def test_a_population_is_the_mean_of_its_best_members(tmp_path):
    write_population(tmp_path / "population")
    store = read(tmp_path)
    (population,) = store.populations.values()
    found = population.to_json()
    assert found["copies"] == [{"round": 0, "member": 1, "other": 0}]
    assert [one["means"] for one in found["members"]][3] == pytest.approx([0.3, 0.4])
    assert population.run.score == pytest.approx(np.mean([0.2, 0.4, 0.6]))
    assert population.rounds_done == 8
    assert population.run.state == "complete"
    members = [run for run in store.runs.values() if run.member is not None]
    assert len(members) == 4


def test_plans_say_how_many_runs_there_will_be():
    sweep = SweepPlan(runs=3)
    fixed = FixedPlan("a", "two-markers", ("chain", "lstm"), (2, 4, 8), seeds=5, symbols=1000)
    for plan in (sweep, fixed):
        assert count_planned(json.loads(json.dumps(vars(plan)))) == len(plan)
    assert count_planned({"name": "?"}) is None


def test_a_sweep_that_runs_shows_its_rate_and_time_left(tmp_path, monkeypatch):
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    held = {"process": os.getpid(), "host": os.uname().nodename, "since": ""}
    (tmp_path / "lock").write_text(json.dumps(held))
    assert is_held(tmp_path)
    activity = Activity(tmp_path, "x", "sweep", "runs", total=30)
    activity.look(10)
    assert activity.to_json()["rate"] is None  # nothing has been timed
    now = 110.0
    activity.look(15)
    found = activity.to_json()
    assert (found["rate"], found["left"], found["running"]) == (0.5, 30.0, True)
    (tmp_path / "lock").write_text(json.dumps(held | {"process": 2**22 + 1}))
    activity.look(15)
    assert activity.to_json()["left"] is None


def test_figures_show_a_run_once(tmp_path):
    write_all(tmp_path)
    append(tmp_path / "classification" / "again" / "records.jsonl", stream_line(0.1))
    append(tmp_path / "classification" / "again" / "records.jsonl", stream_line(0.2))
    write_agent(tmp_path / "agents" / "shorter", agent_settings(seed=0), [-1.0, -1.0])
    # Agents of a study count when they are finished.
    write_agent(tmp_path / "agents" / "study" / "unfinished" / "a1", agent_settings(seed=8), [0.1])
    store = read(tmp_path)
    place_runs(store)
    again = [run for run in store.runs.values() if run.folder.endswith("again")]
    # The sweep has the same settings: it comes later by its name.
    assert [bool(run.places) for run in again] == [True, False]
    shown = sorted(Path(run.folder).name for run in store.runs.values() if "rl" in run.places)
    assert shown == ["chain-3-seed0", "chain-3-seed1", "lstm-300", "one", "population"]
    placed = {Path(run.folder).name: run.places for run in store.runs.values()}
    assert placed["chain-3-seed0"]["rl"] == ("t-maze", "3", "chain")
    assert placed["lstm-300"]["onset"] == ("t-maze", "lstm", "280")
    assert placed["one"]["conditioning"][0] == "t-maze"


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ValueError, match="it must be a folder with records"):
        Store([tmp_path / "missing"])


@pytest.mark.slow
def test_claims_are_those_of_the_command():
    store = read(ROOT / "results")
    found = evaluate_claims(store)
    expected = evaluate_classification(ROOT / "results" / "classification")
    expected += evaluate_agents(ROOT / "results" / "agents")
    assert len(found) == len(expected)
    for one, finding in zip(found, expected, strict=True):
        right = finding.to_json()
        assert {name: one[name] for name in right} == right


@pytest.mark.parametrize("end", [None, "result", "diverged"])
def test_unfinished_agents_are_not_counted_as_by_the_command(tmp_path, end):
    write_agent(tmp_path / "agent", agent_settings(), [0.1, 0.6])
    if end:
        about = {"kind": "agent", "settings": agent_settings(), "updates": 80}
        append(tmp_path / "agent" / "records.jsonl", {"event": end, **about})
    by_command = {one.claim.id: one for one in evaluate_agents(tmp_path)}["t-maze-chain"]
    in_report = {one["id"]: one for one in evaluate_claims(read(tmp_path))}["t-maze-chain"]
    assert by_command.n == in_report["n"] == (end is not None)
    assert by_command.weakest.value == in_report["value"]
