"""Runs: exact to the bit however often they are stopped, and plain about what goes wrong."""

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

from longpass.agents import Config, Diverged, Run, curve, load_network
from longpass.records import Checkpoints, Records
from tests.agents.small_runs import CONFIG, DISPATCH
from tests.helpers import given

# All runs here and those of the command line share one program, so they share a process.
pytestmark = [pytest.mark.xdist_group("runs"), pytest.mark.slow]
FOUR = 4 * DISPATCH


def arrays(folder):
    """What the latest checkpoint holds, but for the seconds it took."""
    with np.load(folder / "checkpoint.npz") as file:
        return {name: file[name] for name in file.files if "seconds" not in name}


def assert_same(one, other):
    first, second = arrays(one), arrays(other)
    assert set(first) == set(second)
    for name, array in first.items():
        np.testing.assert_array_equal(array, second[name], err_msg=name)
    lines = [
        [{name: value for name, value in line.items() if name != "seconds"} for line in curve(run)]
        for run in (one, other)
    ]
    assert lines[0] == lines[1]


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """A folder that keeps compiled programs, so that another process need not compile them."""
    folder = tmp_path_factory.mktemp("programs")
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
    yield folder
    jax.config.update("jax_compilation_cache_dir", None)


@pytest.fixture(scope="module")
def straight(tmp_path_factory, programs):
    """A run of four calls that never stopped."""
    folder = tmp_path_factory.mktemp("straight")
    progress = Run(CONFIG, folder).train(FOUR)
    assert (progress.updates, progress.steps) == (8, FOUR)
    return folder


def test_what_a_run_leaves(straight):
    names = {path.name for path in straight.iterdir()}
    assert names == {"settings.json", "records.jsonl", "checkpoint.npz", "checkpoint-before.npz"}
    begin, *lines = Records(straight / "records.jsonl").read()
    assert begin["event"] == "begin"
    assert begin["learning_rate"] == CONFIG.hyper["learning_rate"]
    assert begin["commit"]
    assert [line["updates"] for line in lines] == [2, 4, 6, 8]
    # 640 steps of episodes of 24; the first ones of each copy were not seen whole.
    assert 18 <= lines[-1]["episodes"] <= 24
    assert 0.0 <= lines[-1]["return_3000"] <= 3.0
    assert Config.load(straight) == CONFIG
    _, network, warning = load_network(straight)
    assert warning is None
    saved = arrays(straight)["['training'].weights.network.policy.weight"]
    np.testing.assert_array_equal(network.policy.weight, saved)


def test_equal_seeds_give_equal_runs_and_stopping_changes_nothing(straight, tmp_path):
    calls = iter([False, True])
    Run(CONFIG, tmp_path).train(FOUR, stop=lambda: next(calls))
    assert len(curve(tmp_path)) == 1
    Run(CONFIG, tmp_path, resume=True).train(2 * DISPATCH)
    Run(CONFIG, tmp_path, resume=True).train(FOUR)
    assert_same(tmp_path, straight)
    # Who made what: a run may be gone on with by another commit than began it.
    events = [line for line in Records(tmp_path / "records.jsonl").read() if "event" in line]
    told = [(line["event"], line.get("updates"), bool(line["commit"])) for line in events]
    assert told == [("begin", None, True), ("resume", 2, True), ("resume", 4, True)]


def test_records_after_the_checkpoint_are_written_again(straight, tmp_path):
    """As a kill leaves it: records are ahead of the checkpoint, the last line is torn."""
    Run(CONFIG, tmp_path).train(DISPATCH)
    for name in ("records.jsonl",):
        text = (straight / name).read_text().splitlines(keepends=True)
        (tmp_path / name).write_text("".join(text[:4]) + text[4][:20])
    Run(CONFIG, tmp_path, resume=True).train(FOUR)
    assert_same(tmp_path, straight)


def test_kill_9_loses_what_came_after_the_checkpoint_alone(straight, tmp_path, programs):
    text = json.dumps(dataclasses.asdict(CONFIG))
    code = (
        "import sys, pathlib; from longpass.agents import Config, Run\n"
        "run = Run(Config.parse(sys.argv[1]), pathlib.Path(sys.argv[2]))\n"
        "run.train(1e9, save_seconds=0.0)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, text, str(tmp_path)],
        env=os.environ | {"JAX_ENABLE_X64": "1", "JAX_COMPILATION_CACHE_DIR": str(programs)},
    )
    until = time.monotonic() + 120
    while not (tmp_path / "checkpoint-before.npz").exists():
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.02)
    time.sleep(0.1 * np.random.default_rng().random())
    process.send_signal(signal.SIGKILL)
    process.wait()
    run = Run(CONFIG, tmp_path, resume=True)
    assert run.progress.updates >= 2
    # It may have come further than the straight one before it died: then that one catches up.
    goal = max(FOUR, run.progress.steps + DISPATCH)
    run.train(goal)
    if goal > FOUR:
        Run(CONFIG, straight, resume=True).train(goal)
    assert_same(tmp_path, straight)


def test_a_damaged_checkpoint_falls_back_and_says_so(straight, tmp_path):
    Run(CONFIG, tmp_path).train(2 * DISPATCH, save_seconds=0.0)
    latest = Checkpoints(tmp_path).latest
    latest.write_bytes(latest.read_bytes()[:-100])
    run = Run(CONFIG, tmp_path, resume=True)
    assert "is damaged" in given(run.warning)
    assert run.progress.updates == 2
    assert "is damaged" in given(load_network(tmp_path)[2])


def test_a_folder_in_use_and_an_empty_one_are_refused(straight, tmp_path):
    with pytest.raises(ValueError, match="holds a run: --resume goes on with it"):
        Run(CONFIG, straight)
    with pytest.raises(ValueError, match="there is no checkpoint in it to resume from"):
        Run(CONFIG, tmp_path, resume=True)
    with pytest.raises(ValueError, match="it must be the folder of a run"):
        load_network(tmp_path)


def test_another_run_is_not_resumed(straight):
    other = dataclasses.replace(CONFIG, hyper=CONFIG.hyper | {"learning_rate": 5e-3})
    with pytest.raises(ValueError, match=r"with learning_rate 0.002, this one has 0.005"):
        Run(other, straight, resume=True)


def test_a_full_disk_keeps_the_last_good_checkpoint(tmp_path, monkeypatch):
    run = Run(CONFIG, tmp_path)
    before = arrays(tmp_path)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Checkpoints, "save", full)
    with pytest.raises(OSError, match=r"update 2 could not be written .*of update 0, stays"):
        run.train(DISPATCH)
    monkeypatch.undo()
    assert before.keys() == arrays(tmp_path).keys()
    assert Run(CONFIG, tmp_path, resume=True).progress.updates == 0


def test_divergence_is_found_saved_and_explained(tmp_path):
    run = Run(dataclasses.replace(CONFIG, hyper=CONFIG.hyper | {"learning_rate": 1e30}), tmp_path)
    with pytest.raises(Diverged, match=r"not finite.*last good checkpoint, of update 0.*smaller"):
        run.train(FOUR)
    assert Records(tmp_path / "records.jsonl").read()[-1]["event"] == "diverged"
    assert Checkpoints(tmp_path / "diverged").exist()
    network = load_network(tmp_path)[1]
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(network))
