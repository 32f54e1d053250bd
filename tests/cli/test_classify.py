"""classify, sweep and their figures from the command line: JSON, folders, stopping, bad input."""

import json
import os

import numpy as np
import pytest

from longpass.cli import _classify
from longpass.cli._sweep import SweepView
from longpass.figures import _style, draw
from longpass.jobs import Job, JobProgress
from longpass.records import Checkpoints, Records, hold_folder
from longpass.streams import StreamTraining
from tests.helpers import run, run_longpass, start_longpass, stop_when_training

SIZES = ("--pool-size", 8, "--num-pools", 3, "--viewport-size", 3, "--hidden-size", 4)
TINY = ("--batch-size", 4, *SIZES, "--symbols", 4 * 2 * 512 * 3)
SCORES = ("accuracy", "smoothed_accuracy", "sequences", "curve", "criterion")


# One process compiles native code, and keeps it for others.
native = pytest.mark.xdist_group("native")


class StopsAfter:
    """As `StopOnSignal`, asked to stop after some calls."""

    def __init__(self, calls):
        self.calls = calls

    def __enter__(self):
        def asked():
            self.calls -= 1
            return self.calls < 0

        return asked

    def __exit__(self, *_):
        pass


@pytest.fixture
def one_block_per_call(monkeypatch):
    """A training advances by one block of minibatches at a time, however fast the machine is."""

    def advance(training):
        training.learn_block()
        return []

    monkeypatch.setattr(StreamTraining, "advance", advance)


def events(path):
    return [line["event"] for line in Records(path / "records.jsonl").read()]


@pytest.mark.slow
@native
def test_a_run_stopped_and_resumed_is_one_never_stopped(
    capsys, tmp_path, monkeypatch, one_block_per_call
):
    code, out, _ = run(capsys, "classify", *TINY, "--out", tmp_path / "whole", "--json")
    assert code == 0
    whole = json.loads(out)
    assert whole["command"] == "classify"
    assert whole["symbols"] == 4 * 2 * 512 * 3
    assert 0 <= whole["accuracy"] <= 1
    assert 0 <= whole["smoothed_accuracy"] <= 1
    assert whole["seconds"] > 0
    assert whole["settings"]["num_pools"] == 3

    monkeypatch.setattr(_classify, "StopOnSignal", lambda: StopsAfter(1))
    command = ("classify", *TINY, "--out", tmp_path / "cut", "--json")
    # Where there is nothing yet, --resume begins.
    code, out, err = run(capsys, *command, "--resume")
    assert code == 130
    assert out == ""
    assert f"--out {tmp_path / 'cut'} --json --resume continues" in err
    assert events(tmp_path / "cut") == ["begin"]
    code, _, err = run(capsys, *command)
    assert code == 1
    assert "which holds a run: pass --resume" in err
    code, _, err = run(capsys, *command, "--resume", "--seed", 1)
    assert code == 1
    assert "seed is 1, but" in err

    monkeypatch.setattr(_classify, "StopOnSignal", lambda: StopsAfter(100))
    code, out, _ = run(capsys, *command, "--resume")
    assert code == 0
    resumed = json.loads(out)
    for name in SCORES:
        assert resumed[name] == whole[name]
    with (
        np.load(tmp_path / "cut" / "checkpoint.npz") as mine,
        np.load(tmp_path / "whole" / "checkpoint.npz") as theirs,
    ):
        assert mine.files == theirs.files
        for name in set(mine.files) - {"[1]"}:  # the seconds that it took
            np.testing.assert_array_equal(mine[name], theirs[name])
    # A run that is done is not run again.
    code, out, _ = run(capsys, *command, "--resume")
    assert json.loads(out) == resumed
    assert events(tmp_path / "cut") == ["begin", "resume", "result"]


@pytest.mark.slow
@native
def test_stopping_and_resuming_in_default_precision(tmp_path):
    """As users run it. This process has double precision, which once hid that a checkpoint could
    not be loaded."""
    # Long enough that the signal comes while it trains.
    command = ("classify", *TINY[:-1], 4 * 2 * 512 * 2000, "--json", "--out")
    code, out, err = run_longpass(*command, tmp_path / "whole")
    assert code == 0, err
    whole = json.loads(out)
    often = ("--save-minutes", 1e-5)
    with start_longpass(*command, tmp_path / "cut", *often) as process:
        stop_when_training(process, tmp_path / "cut")
        out, err = process.communicate()
    assert process.returncode == 130, err
    assert "longpass: stopping; once more leaves at once" in err
    assert out == ""
    assert "result" not in events(tmp_path / "cut")
    code, out, err = run_longpass(*command, tmp_path / "cut", "--resume")
    assert code == 0, err
    resumed = json.loads(out)
    for name in SCORES:
        assert resumed[name] == whole[name]
    with np.load(tmp_path / "cut" / "checkpoint.npz") as file:
        assert not [name for name in file.files if file[name].dtype == np.float64]


@pytest.mark.slow
@native
def test_a_folder_in_use_is_refused_and_left_as_it_is(tmp_path):
    out = tmp_path / "run"
    out.mkdir()
    with hold_folder(out):
        before = {path.name: path.read_bytes() for path in out.iterdir()}
        for resume in ((), ("--resume",)):
            code, _, err = run_longpass("classify", *TINY, "--out", out, *resume)
            assert code == 1
            assert f"in use by process {os.getpid()} on" in err
            assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_a_full_disk_ends_a_run_before_it_trains(capsys, tmp_path, monkeypatch):
    """It once trained to the end, and printed no result."""

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Checkpoints, "save", full)
    monkeypatch.setattr(StreamTraining, "learn_block", None)
    code, out, err = run(capsys, "classify", *TINY, "--out", tmp_path / "run", "--json")
    assert code == 1
    assert out == ""
    assert "could not be written" in err
    assert "No space left on device" in err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--batch-size", 0), "batch_size is 0"),
        (("--truncation", 0), "truncation is 0"),
        (("--symbols", 10), "symbols is 10: it must be at least 64"),
        (("--pool-size", 0), "pool_size is 0"),
        (("--memory", "gru", "--viewport-size", 4), "viewport_size is 4: it must be left out"),
        (("--resume",), "resume is set, but out is not"),
    ],
)
def test_impossible_settings_end_with_a_message(capsys, flags, message):
    code, out, err = run(capsys, "classify", *flags)
    assert code == 1
    assert out == ""
    assert message in err


def test_flags_that_do_not_exist_end_with_2(capsys):
    for flags in (("--task", "four-markers"), ("--truncation", "x")):
        assert run(capsys, "classify", *flags)[0] == 2
    # A memory may be anybody's, so it is looked for later.
    code, _, err = run(capsys, "classify", "--memory", "transformer")
    assert code == 1
    assert "memory is 'transformer': it must be one of 'chain'" in err


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


@pytest.mark.slow
@native
def test_figures_are_drawn_from_folders_of_classify_and_of_sweep(capsys, tmp_path):
    code, _, err = run(capsys, "classify", *TINY, "--out", tmp_path / "records" / "one")
    assert code == 0, err
    plan = ("--tasks", "two-markers", "--memories", "lstm", "--truncations", 2, "--runs", 1)
    # This seed draws a small network.
    plan = (*plan, "--batch-sizes", 4, "--symbols", 2000, "--workers", 1, "--seed", 3)
    code, out, err = run(capsys, "sweep", *plan, "--out", tmp_path / "records" / "many", "--json")
    assert code == 0, err
    assert json.loads(out)["done"] == 1
    for folder, shown in (("one", {"Concrete"}), ("many", {"LSTM"}), ("", {"Concrete", "LSTM"})):
        records = tmp_path / "records" / folder
        code, _, _ = run(
            capsys, "figure", "truncation", "--records", records, "--out", tmp_path / "figures"
        )
        assert code == 0
        svg = (tmp_path / "figures" / "truncation.svg").read_text()
        assert f"n = {len(shown)}" in svg
        assert {name for name in ("Concrete", "LSTM", "GRU") if name in svg} == shown


def test_figures_of_scores_show_every_cell(capsys, tmp_path):
    lines = [
        {
            "event": "result",
            "kind": "stream",
            "settings": {
                "task": task,
                "memory": memory,
                "truncation": T,
                "batch_size": B,
                "symbols": 1000,
            },
            "accuracy": None if T == 4 and memory == "lstm" else accuracy,
        }
        for task in ("two-markers", "subsequences")
        for memory, accuracy in (("chain", 0.97), ("lstm", 0.5))
        for T in (2, 4)
        for B in (4, 8)
    ]
    # Other lines of the same file, and results of agents, are not shown.
    others = [{"event": "begin"}, {"event": "result", "kind": "agent", "settings": {}}]
    Records(tmp_path / "records.jsonl").append([*lines, *others])
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
    assert "which has no results of sequence classification" in err


def test_figures_of_scores_show_quartiles_and_the_best_run(monkeypatch, tmp_path):
    """Two cells with 5 and 4 runs, one of which diverged; one run is recorded twice."""
    scores = {("chain", 2): [0.2, 0.4, 0.5, 0.6, 1.0], ("lstm", 2): [None, 0.1, 0.2, 0.3]}
    lines = [
        {
            "event": "result",
            "kind": "stream",
            "settings": {
                "task": "two-markers",
                "memory": memory,
                "truncation": T,
                "batch_size": 4,
                "symbols": 1000,
                "seed": seed,
            },
            "accuracy": accuracy,
        }
        for (memory, T), accuracies in scores.items()
        for seed, accuracy in enumerate(accuracies)
    ]
    Records(tmp_path / "records.jsonl").append([*lines, lines[0]])
    kept = []
    monkeypatch.setattr(_style, "save", lambda figure, out, name: kept.append(figure) or [])
    draw("truncation", tmp_path, tmp_path)
    above, below = kept[0].axes
    boxes = [(box.get_y(), box.get_y() + box.get_height()) for box in above.patches]
    assert boxes == [pytest.approx((0.4, 0.6)), pytest.approx((0.075, 0.225))]
    dots = [spots.get_offsets()[:, 1].tolist() for spots in above.collections[::2]]
    assert dots == [[0.2, 0.4, 0.5, 0.6, 1.0], [0.0, 0.1, 0.2, 0.3]]
    _, *best = above.lines  # the first is chance
    assert [line.get_ydata().tolist() for line in best] == [[1.0], [0.3]]
    assert {"5", "4"} < {text.get_text() for text in below.texts}


def test_the_time_left_is_that_of_the_jobs_left():
    """Ten runs are recorded already; of two jobs, expected to take 400 s each, one is done."""
    view = SweepView(12, {(10,): 400.0, (11,): 400.0}, workers=2)
    assert view.left == pytest.approx(400.0)
    done = [{"symbols": 5}]
    view.on_progress(JobProgress(Job((10,), ()), "done", 1.0, result=done))
    assert view.done == 11
    # What took no time at all leaves no time.
    assert view.left < 60
    view.on_progress(JobProgress(Job((11,), ()), "done", 1.0, result=done))
    assert view.left == 0
