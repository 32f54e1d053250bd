"""Runs: equal to the bit however often they are stopped, and clear about what goes wrong."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time

import jax
import numpy as np
import pytest

from longpass._fields import replace_settings
from longpass.agents import (
    AgentTraining,
    learning_curve,
    load_network,
    load_settings,
    make_trainer,
    resolve_settings,
    train_agent,
)
from longpass.records import Checkpoints, Diverged, Records, hold_folder
from tests.agents.zoo import RUN, arrays, assert_same_runs
from tests.helpers import given

# All runs here and those of the command line share one program, so they share a process.
pytestmark = [pytest.mark.xdist_group("runs"), pytest.mark.slow]
CALL = 2 * RUN.agent.learner.steps
FOUR = 4 * CALL


def with_hyper(**values):
    return dataclasses.replace(RUN, agent=replace_settings(RUN.agent, values))


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    """A run of four calls that never stopped."""
    folder = tmp_path_factory.mktemp("straight")
    progress = train_agent(RUN, folder, FOUR)
    assert (progress.updates, progress.steps) == (8, FOUR)
    return folder


def test_what_a_run_leaves(straight):
    names = {path.name for path in straight.iterdir()}
    files = {"settings.json", "records.jsonl", "checkpoint.npz", "checkpoint-before.npz"}
    assert names == files | {"lock"}
    begin, *lines, result = Records(straight / "records.jsonl").read()
    assert (begin["event"], begin["kind"]) == ("begin", "agent")
    assert begin["settings"] == RUN.to_json()
    assert begin["commit"]
    assert {line["event"] for line in lines} == {"progress"}
    assert [line["updates"] for line in lines] == [2, 4, 6, 8]
    # 640 steps of episodes of 24; the first ones of each copy were not observed completely.
    assert 18 <= lines[-1]["episodes"] <= 24
    assert 0.0 <= lines[-1]["return_3000"] <= 3.0
    assert (result["event"], result["settings"]) == ("result", RUN.to_json())
    counts = ("updates", "steps", "episodes", "seconds", "return_100", "return_3000")
    assert [result[name] for name in counts] == [lines[-1][name] for name in counts]
    assert load_settings(straight) == RUN


def test_a_trained_network_is_loaded_without_compiling(straight):
    compiled = []

    def listen(event, duration_secs, **kwargs):
        if "backend_compile" in event:
            compiled.append(event)

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        jax.jit(lambda x: x + 17)(np.float32(1))
        assert len(compiled) == 1, "the listener does not hear of compiling"
        run, network, warning = load_network(straight)
        assert len(compiled) == 1
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
    assert (run, warning) == (RUN, None)
    saved = arrays(straight)["['training'].weights.network.policy.weight"]
    np.testing.assert_array_equal(network.policy.weight, saved)


def test_shapes_of_a_gymnasium_run_are_those_of_its_state():
    overrides = {"memory": "gru", "hidden_size": 4, "envs": 2, "stagger": 3, "writer": "slow"}
    trainer = make_trainer(resolve_settings("CartPole-v1", None, overrides | {"lag": 1}))
    shapes, state = trainer.state_shapes(), trainer.start(jax.random.key(0))
    assert jax.tree.structure(shapes) == jax.tree.structure(state)
    for one, other in zip(*map(jax.tree.leaves, (shapes, state)), strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)


def test_equal_seeds_give_equal_runs_and_stopping_changes_nothing(straight, tmp_path):
    calls = iter([False, True])
    train_agent(RUN, tmp_path, FOUR, stop=lambda: next(calls), resume=True)
    assert len(learning_curve(tmp_path)) == 1
    train_agent(RUN, tmp_path, 2 * CALL, resume=True)
    train_agent(RUN, tmp_path, FOUR, resume=True)
    # A run that is complete is left as it is.
    train_agent(RUN, tmp_path, FOUR, resume=True)
    assert_same_runs(tmp_path, straight)
    # A run may be continued by another commit than began it.
    lines = Records(tmp_path / "records.jsonl").read()
    events = [(line["event"], line.get("updates")) for line in lines]
    assert [event for event in events if event[0] != "progress"] == [
        ("begin", None),
        ("resume", 2),
        ("result", 4),
        ("resume", 4),
        ("result", 8),
    ]
    assert all(line["commit"] for line in lines if line["event"] != "progress")


def test_records_after_the_checkpoint_are_written_again(straight, tmp_path):
    """As a kill leaves it: records are ahead of the checkpoint, the last line is incomplete."""
    train_agent(RUN, tmp_path, CALL)
    text = (straight / "records.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "records.jsonl").write_text("".join(text[:4]) + text[4][:20])
    train_agent(RUN, tmp_path, FOUR, resume=True)
    assert_same_runs(tmp_path, straight)


def test_kill_9_loses_only_what_came_after_the_checkpoint(straight, tmp_path):
    code = (
        "import json, sys, pathlib; from longpass.agents import RunSettings, train_agent\n"
        "run = RunSettings.from_json(json.loads(sys.argv[1]))\n"
        "train_agent(run, pathlib.Path(sys.argv[2]), 1e9, save_seconds=0.0)"
    )
    command = [sys.executable, "-c", code, json.dumps(RUN.to_json()), str(tmp_path)]
    with subprocess.Popen(command, env=os.environ | {"JAX_ENABLE_X64": "1"}) as process:
        try:
            until = time.monotonic() + 300
            while not (tmp_path / "checkpoint-before.npz").exists():
                assert process.poll() is None
                assert time.monotonic() < until
                time.sleep(0.02)
            time.sleep(0.1 * np.random.default_rng().random())
        finally:
            process.send_signal(signal.SIGKILL)
    # Killed while it renamed them, it leaves the checkpoint before alone.
    saved = Checkpoints(tmp_path)
    with np.load(saved.latest if saved.latest.exists() else saved.before) as file:
        reached = int(file["['training'].updates"]) * RUN.agent.learner.steps
    # It may have come further than the straight one before it died: then that one continues.
    goal = max(FOUR, reached + CALL)
    train_agent(RUN, tmp_path, goal, resume=True)
    train_agent(RUN, straight, goal, resume=True)
    assert_same_runs(tmp_path, straight)


def test_a_damaged_checkpoint_falls_back_with_a_warning(straight, tmp_path):
    train_agent(RUN, tmp_path, 2 * CALL, save_seconds=0.0)
    latest = Checkpoints(tmp_path).latest
    latest.write_bytes(latest.read_bytes()[:-100])
    assert "is damaged" in given(load_network(tmp_path)[2])
    warnings, updates = [], []
    train_agent(
        RUN,
        tmp_path,
        2 * CALL,
        resume=True,
        on_begin=lambda folder: warnings.append(folder.warning),
        on_progress=lambda progress: updates.append(progress.updates),
    )
    assert "is damaged" in warnings[0]
    assert updates == [2, 4]  # what was loaded, then the call


def test_folders_that_are_not_for_this_run_are_refused(straight, tmp_path):
    with pytest.raises(ValueError, match="holds a run: pass --resume to continue it"):
        train_agent(RUN, straight, FOUR)
    with pytest.raises(ValueError, match="it must be the folder of a run"):
        load_network(tmp_path)
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(ValueError, match=r"has 'thesis.tex' in it and no settings.json"):
        train_agent(RUN, tmp_path, FOUR, resume=True)
    member = tmp_path / "population" / "members" / "0"
    member.mkdir(parents=True)
    (tmp_path / "population" / "population.json").write_text("{}")
    with pytest.raises(ValueError, match="a member of a population"):
        train_agent(RUN, member, FOUR, resume=True)
    with pytest.raises(ValueError, match=r"has 'members' in it and no settings.json"):
        train_agent(RUN, tmp_path / "population", FOUR, resume=True)
    other = with_hyper(learning_rate=5e-3)
    with pytest.raises(ValueError, match=r"learning_rate is 0.005, but .* begun with 0.002"):
        train_agent(other, straight, FOUR, resume=True)


def test_a_run_whose_checkpoints_are_gone_is_not_begun_anew(straight, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    for name in ("settings.json", "records.jsonl"):
        (folder / name).write_bytes((straight / name).read_bytes())
    before = (folder / "records.jsonl").read_bytes()
    with pytest.raises(ValueError, match=r"run', whose checkpoints are gone"):
        train_agent(RUN, folder, FOUR, resume=True)
    assert (folder / "records.jsonl").read_bytes() == before


def test_a_run_that_is_in_use_is_refused(straight):
    with hold_folder(straight), pytest.raises(ValueError, match="which is in use by process"):
        train_agent(RUN, straight, FOUR, resume=True)


def test_a_full_disk_keeps_the_last_good_checkpoint(tmp_path, monkeypatch):
    def fill_disk(*_):
        monkeypatch.setattr(Checkpoints, "save", full)

    def full(*_):
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match=r"update 2 could not be written .*of update 0, stays"):
        train_agent(RUN, tmp_path, CALL, on_progress=fill_disk)
    monkeypatch.undo()
    assert int(arrays(tmp_path)["['training'].updates"]) == 0
    assert train_agent(RUN, tmp_path, CALL, resume=True).updates == 2


def test_divergence_is_found_saved_and_explained(tmp_path):
    run = with_hyper(learning_rate=1e30)
    message = r"not finite.*smaller learning_rate.*last good checkpoint, of update 0"
    with pytest.raises(Diverged, match=message):
        train_agent(run, tmp_path, FOUR)
    assert Records(tmp_path / "records.jsonl").read()[-1]["event"] == "diverged"
    assert Checkpoints(tmp_path / "diverged").exist()
    network = load_network(tmp_path)[1]
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(network))


def test_no_more_updates_than_needed(straight):
    training = AgentTraining(RUN, make_trainer(RUN), steps=1)
    training.advance()
    assert (training.updates, training.done) == (1, True)
