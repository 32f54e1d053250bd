"""The harness of faults: a short part of it, and that it would find a difference."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from chaos import __main__ as harness
from chaos import long
from chaos._folders import list_incomplete, name_difference, read_folder
from longpass.records import Records
from tests.helpers import default_environment

ROOT = Path(__file__).parent.parent.parent
LINE = {"event": "result", "score": 0.5, "seconds": 1.0}


def run_chaos(*args):
    """Run the harness in a process of its own, as it must: commands are its forks."""
    return subprocess.run(
        [sys.executable, "-m", "chaos", *map(str, args)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**default_environment(), "OPENBLAS_NUM_THREADS": "1"},
    )


@pytest.mark.slow
def test_a_few_kills_lose_nothing():
    # The kills end it, not the time, however slow the machine is.
    done = run_chaos("kills", "--commands", "classify", "--kills", 4, "--minutes", 30, "--json")
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)
    assert (row["tries"], row["survived"], row["lost"]) == (4, 4, 0), done.stderr


@pytest.mark.slow
def test_a_long_sweep_has_every_run_once(tmp_path):
    row = long._make_up_sweep(tmp_path / "sweep", 20)
    assert "all runs recorded once: True" in row.note


def test_unknown_parts_are_refused():
    done = run_chaos("earthquake")
    assert done.returncode == 2
    assert "part is 'earthquake': it must be one of kills" in done.stderr


def test_every_part_is_there():
    for part in harness.PARTS:
        assert (ROOT / "chaos" / f"{part}.py").exists(), part


def test_rows_name_a_commit_of_this_history():
    """They were made by code that is committed, unchanged."""

    def git(*words):
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
        return done.stdout.split()

    if git("rev-parse", "--is-shallow-repository") != ["false"]:
        pytest.skip("the history is not here")
    known = git("rev-list", "--abbrev-commit", "--abbrev=10", "HEAD")
    rows = Records(ROOT / "results" / "reliability.jsonl").read()
    assert {row["part"] for row in rows} == set(harness.PARTS)
    assert {row["commit"] for row in rows} <= set(known)


def make_folder(path, lines, state):
    path.mkdir()
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (path / "records.jsonl").write_text(text)
    np.savez(path / "checkpoint.npz", **{"weights": state, "['seconds']": np.array(len(lines))})
    return read_folder(path)


def test_only_what_may_differ_may_differ(tmp_path):
    begin, state = {"event": "begin", "date": "today"}, np.arange(3)
    expected = make_folder(tmp_path / "twin", [begin, LINE], state)
    later = [{"event": "begin", "date": "tomorrow"}, {"event": "resume"}, {**LINE, "seconds": 2.0}]
    assert name_difference(make_folder(tmp_path / "a", later, state), expected) is None
    for name, lines, weights in (
        ("doubled", [begin, LINE, LINE], state),
        ("lost", [LINE], state),
        ("wrong", [begin, {**LINE, "score": 0.25}], state),
        ("weights", [begin, LINE], state + 1),
    ):
        assert name_difference(make_folder(tmp_path / name, lines, weights), expected), name
    assert list_incomplete(tmp_path / "a") == []
    page = tmp_path / "a" / "report.html"
    page.write_text("5 runs; made on 2026-11-18")
    shown = read_folder(tmp_path / "a")
    page.write_text("5 runs; made on 2026-11-19")
    assert name_difference(read_folder(tmp_path / "a"), shown) is None
    page.write_text("4 runs; made on 2026-11-18")
    assert name_difference(read_folder(tmp_path / "a"), shown)
    page.unlink()
    (tmp_path / "a" / "settings.json.part").touch()
    assert list_incomplete(tmp_path / "a") == ["settings.json.part"]
    assert name_difference(read_folder(tmp_path / "a"), expected)
