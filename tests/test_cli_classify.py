"""classify and sweep from the command line: JSON, folders, stopping, bad input."""

import json

import numpy as np
import pytest

from longpass.cli import _classify
from longpass.results import Records
from tests.helpers import run, run_longpass, start_longpass, stop_when_training

TINY = ("--batch-size", 4, "--D", 8, "--k", 3, "--V", 3, "--M", 4, "--symbols", 4 * 2 * 512 * 3)


class StopsAfter:
    """As `stopping`, asked to stop after so many looks."""

    def __init__(self, looks):
        self.looks = looks

    def __enter__(self):
        def asked():
            self.looks -= 1
            return self.looks < 0

        return asked

    def __exit__(self, *_):
        pass


@pytest.mark.slow
def test_a_run_stopped_and_resumed_is_one_never_stopped(capsys, tmp_path, monkeypatch):
    code, out, _ = run(capsys, "classify", *TINY, "--out", tmp_path / "whole", "--json")
    assert code == 0
    whole = json.loads(out)
    assert whole["symbols"] == 4 * 2 * 512 * 3
    assert 0 <= whole["accuracy"] <= 1
    assert 0 <= whole["smoothed_accuracy"] <= 1
    assert whole["seconds"] > 0
    assert whole["settings"]["k"] == 3

    monkeypatch.setattr(_classify, "_LOOK_EVERY", 1e-6)
    monkeypatch.setattr(_classify, "stopping", lambda: StopsAfter(1))
    command = ("classify", *TINY, "--out", tmp_path / "cut", "--json")
    code, out, err = run(capsys, *command)
    assert code == 130
    assert out == ""
    assert "--resume goes on" in err
    assert not (tmp_path / "cut" / "runs.jsonl").exists()
    code, _, err = run(capsys, *command)
    assert code == 1
    assert "which has a run in it: pass --resume" in err
    code, _, err = run(capsys, *command, "--resume", "--seed", 1)
    assert code == 1
    assert "is of a run with seed 0, this one has 1" in err

    monkeypatch.setattr(_classify, "stopping", lambda: StopsAfter(100))
    code, out, _ = run(capsys, *command, "--resume")
    assert code == 0
    resumed = json.loads(out)
    for name in ("accuracy", "smoothed_accuracy", "sequences", "curve", "criterion"):
        assert resumed[name] == whole[name]
    mine, theirs = (np.load(tmp_path / name / "checkpoint.npz") for name in ("cut", "whole"))
    for name in mine.files:
        if not name.endswith("[1]"):  # the seconds that it took
            np.testing.assert_array_equal(mine[name], theirs[name])
    mine.close()
    theirs.close()
    # A run that is done is not run again.
    code, out, _ = run(capsys, *command, "--resume")
    assert json.loads(out) == resumed
    assert len(Records(tmp_path / "cut" / "runs.jsonl").read()) == 1


@pytest.mark.slow
def test_stopping_and_resuming_in_default_precision(tmp_path):
    """As users run it. The process above has double precision, which once hid that a checkpoint
    could not be loaded."""
    command = ("classify", *TINY[:-1], 4 * 2 * 512 * 100, "--json", "--out")
    code, out, err = run_longpass(*command, tmp_path / "whole")
    assert code == 0, err
    whole = json.loads(out)
    with start_longpass(*command, tmp_path / "cut") as process:
        stop_when_training(process)
        out, err = process.communicate()
    assert process.returncode == 130, err
    assert out == ""
    assert not Records(tmp_path / "cut" / "runs.jsonl").read()
    code, out, err = run_longpass(*command, tmp_path / "cut", "--resume")
    assert code == 0, err
    resumed = json.loads(out)
    for name in ("accuracy", "smoothed_accuracy", "sequences", "curve", "criterion"):
        assert resumed[name] == whole[name]
    with np.load(tmp_path / "cut" / "checkpoint.npz") as file:
        assert not [name for name in file.files if file[name].dtype == np.float64]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--batch-size", 0), "batch_size is 0"),
        (("--truncation", 0), "truncation is 0"),
        (("--symbols", 10), "symbols is 10: it must be at least 64"),
        (("--D", 0), "D is 0"),
        (("--memory", "gru", "--V", 4), "only the memories chain and parallel have pools"),
        (("--resume",), "resume is set, but out is not"),
    ],
)
def test_impossible_settings_end_with_a_message(capsys, flags, message):
    code, out, err = run(capsys, "classify", *flags)
    assert code == 1
    assert out == ""
    assert message in err


def test_flags_that_do_not_exist_end_with_2(capsys):
    for flags in (("--task", "four-markers"), ("--memory", "transformer"), ("--truncation", "x")):
        assert run(capsys, "classify", *flags)[0] == 2


def test_foreign_folders_are_left_alone(capsys, tmp_path):
    (tmp_path / "thesis.tex").write_text("")
    for command in ("classify", "sweep"):
        code, _, err = run(capsys, command, "--out", tmp_path)
        assert code == 1
        assert "has 'thesis.tex' in it" in err
        code, _, err = run(capsys, command, "--out", tmp_path / "thesis.tex")
        assert code == 1
        assert "which is a file" in err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_figures_of_scores_are_drawn_from_records(capsys, tmp_path):
    records = [
        {
            "sweep": "made up",
            "settings": {"task": task, "memory": memory, "truncation": T, "batch_size": B},
            "symbols": 1,
            "accuracy": None if T == 4 and memory == "lstm" else accuracy,
            "diverged": 3 if T == 4 and memory == "lstm" else None,
        }
        for task in ("two-markers", "subsequences")
        for memory, accuracy in (("chain", 0.97), ("lstm", 0.5))
        for T in (2, 4)
        for B in (4, 8)
    ]
    Records(tmp_path / "runs.jsonl").append(records)
    for name in ("truncation", "batch-size"):
        code, _, _ = run(
            capsys, "figure", name, "--records", tmp_path, "--out", tmp_path / "figures"
        )
        assert code == 0
        svg = (tmp_path / "figures" / f"{name}.svg").read_text()
        assert "n = 8" in svg
        assert "LSTM" in svg
        assert "Three markers" not in svg
    code, _, err = run(capsys, "figure", "truncation", "--records", tmp_path / "figures")
    assert code == 1
    assert "there are no records of runs in" in err
