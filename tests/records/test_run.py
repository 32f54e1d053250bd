"""One run: trained, saved, stopped, resumed and recorded; one process per folder."""

import os
import subprocess
import sys

import numpy as np
import pytest

from longpass.agents import Population, PopulationPlan, Study, resolve_settings
from longpass.envs import TMazeParams
from longpass.records import Checkpoints, InMemory, Records, RunFolder, hold_folder, train_run
from longpass.streams import Sweep, SweepPlan

SETTINGS = {"memory": "chain", "seed": 3}
RUN = resolve_settings("t-maze", TMazeParams(), {}, paper=False, seed=0)


class Counting:
    """A training that counts its updates, in an array that a resumed one must continue from."""

    def __init__(self, checkpoint=None, total=5):
        self.state = np.zeros(3, np.int32) if checkpoint is None else np.array(checkpoint)
        self.total = total

    @property
    def updates(self):
        return int(self.state[0])

    @property
    def done(self):
        return self.updates >= self.total

    @property
    def checkpoint(self):
        return self.state

    def advance(self):
        self.state = self.state + np.array([1, 2, 3], np.int32)
        return [{"event": "progress", "updates": self.updates}]

    def results(self):
        return [{"event": "result", "sum": int(self.state.sum())}]


def stop_after(calls):
    """Asks to stop after some calls."""
    left = iter([False] * calls)
    return lambda: next(left, True)


def begin_and_train(path, stop=lambda: False, resume=True):
    with RunFolder(path, "stream", SETTINGS, resume=resume) as folder:
        checkpoint = folder.load(np.zeros(3, np.int32)) if folder.begun else None
        training = Counting(checkpoint)
        folder.begin(training)
        return train_run(training, folder, stop=stop)


def events(path):
    lines = Records(path / "records.jsonl").read()
    return [(line["event"], line.get("updates")) for line in lines]


def test_a_stopped_run_is_resumed_where_it_was(tmp_path):
    assert begin_and_train(tmp_path / "whole")
    assert not begin_and_train(tmp_path / "cut", stop_after(2))
    assert begin_and_train(tmp_path / "cut")
    progress = [("progress", n) for n in range(1, 6)]
    assert events(tmp_path / "whole") == [("begin", None), *progress, ("result", None)]
    assert events(tmp_path / "cut") == [
        ("begin", None),
        *progress[:2],
        ("resume", 2),
        *progress[2:],
        ("result", None),
    ]
    for name in ("whole", "cut"):
        with RunFolder(tmp_path / name, "stream", SETTINGS, resume=True) as folder:
            line = folder.result({})
        assert line is not None
        assert line["sum"] == 30
        assert (line["kind"], line["settings"]) == ("stream", SETTINGS)
        assert {"version", "commit", "jax", "machine", "date"} <= set(line)


def test_a_run_stopped_before_its_first_update_begins_at_0(tmp_path):
    assert not begin_and_train(tmp_path, lambda: True)
    assert begin_and_train(tmp_path)
    assert ("resume", 0) in events(tmp_path)


def test_a_kill_between_the_first_checkpoint_and_the_first_line_leaves_a_whole_run(tmp_path):
    with RunFolder(tmp_path, "stream", SETTINGS) as folder:
        folder.save(Counting())
    assert begin_and_train(tmp_path)
    assert events(tmp_path)[0] == ("begin", None)
    assert [event for event, _ in events(tmp_path)].count("begin") == 1


def test_checkpoints_are_saved_as_often_as_asked(tmp_path):
    saved = []

    class Sink(InMemory):
        def save(self, training):
            saved.append(training.updates)

    train_run(Counting(), Sink(), save_seconds=0.0)
    assert saved == [1, 2, 3, 4, 5]
    saved.clear()
    train_run(Counting(), Sink())
    assert saved == [5]


def test_a_folder_with_a_run_is_continued_only_on_request_and_with_its_settings(tmp_path):
    begin_and_train(tmp_path, stop_after(1))
    with pytest.raises(ValueError, match="which holds a run: pass --resume"):
        RunFolder(tmp_path, "stream", SETTINGS).__enter__()
    with pytest.raises(ValueError, match=r"seed is 4, but .* was begun with 3"):
        RunFolder(tmp_path, "stream", SETTINGS | {"seed": 4}, resume=True).__enter__()
    with pytest.raises(ValueError, match="kind is 'agent', but"):
        RunFolder(tmp_path, "agent", SETTINGS, resume=True).__enter__()
    assert begin_and_train(tmp_path), "what was refused has let the folder go"


def test_another_folder_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(ValueError, match=r"has 'thesis.tex' in it and no settings.json"):
        RunFolder(tmp_path, "stream", SETTINGS, resume=True).__enter__()
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_second_process_is_refused_and_touches_nothing(tmp_path):
    script = (
        "import sys; from pathlib import Path; from longpass.records import RunFolder\n"
        f"RunFolder(Path(sys.argv[1]), 'stream', {SETTINGS!r}, resume=True).__enter__()"
    )
    with RunFolder(tmp_path, "stream", SETTINGS) as folder:
        folder.begin(Counting())
        before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
        second = subprocess.run(
            [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True
        )
        assert second.returncode == 1
        assert f"which is in use by process {os.getpid()} on" in second.stderr
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    third = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True)
    assert third.returncode == 0, third.stderr


@pytest.mark.parametrize("kind", ["sweep", "study", "population"])
def test_who_holds_a_folder_is_told_before_anything_is_written(tmp_path, kind):
    """Also if the folder is new, or the second command was not asked to resume."""
    make = {
        "sweep": lambda: Sweep(SweepPlan(name="one"), tmp_path),
        "study": lambda: Study("one", [], tmp_path),
        "population": lambda: Population(PopulationPlan(run=RUN), tmp_path),
    }[kind]
    with hold_folder(tmp_path):
        before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
        with pytest.raises(ValueError, match=f"in use by process {os.getpid()} on .* since"):
            make()
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    make()


def test_a_full_disk_leaves_the_last_good_checkpoint(tmp_path, monkeypatch):
    with RunFolder(tmp_path, "stream", SETTINGS) as folder:
        training = Counting()
        folder.begin(training)
        training.advance()
        folder.save(training)

        def fail(*_):
            raise OSError("no space left")

        monkeypatch.setattr(Checkpoints, "save", fail)
        training.advance()
        message = r"of update 2 could not be written.*the last good one, of update 1, stays"
        with pytest.raises(OSError, match=message):
            folder.save(training)
        assert folder.load(np.zeros(3, np.int32))[0] == 1
