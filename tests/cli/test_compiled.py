"""Compiled programs are kept in the user's cache folder, and change nothing but the time."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from longpass.cli._compiled import cache_folder, keep_compiled_programs
from longpass.records import Records
from tests.helpers import default_environment

FOLDER = "JAX_COMPILATION_CACHE_DIR"
TINY = ("--batch-size", "2", "--pool-size", "4", "--num-pools", "2", "--viewport-size", "2")
TINY = (*TINY, "--hidden-size", "4", "--learner", "jax", "--symbols", "4096")
# What differs from run to run.
TIMINGS = ("seconds", "date", "commit")


def classify(out: Path, cache: Path, **variables: str) -> list[dict[str, object]]:
    """The records of a tiny run in a process of its own."""
    environment = {name: x for name, x in default_environment().items() if name != FOLDER}
    done = subprocess.run(
        [sys.executable, "-m", "longpass", "classify", *TINY, "--out", str(out)],
        env=environment | {"XDG_CACHE_HOME": str(cache)} | variables,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    lines = Records(out / "records.jsonl").read()
    return [{key: x for key, x in line.items() if key not in TIMINGS} for line in lines]


@pytest.mark.slow
def test_records_are_equal_with_and_without_kept_programs(tmp_path):
    cache = tmp_path / "cache"
    without = classify(tmp_path / "a", cache, JAX_ENABLE_COMPILATION_CACHE="false")
    assert not cache.exists()
    assert classify(tmp_path / "b", cache) == without
    (folder,) = (cache / "longpass").iterdir()
    kept = {path.name: path.read_bytes() for path in folder.glob("*-cache")}
    assert kept
    assert folder.stat().st_mode & 0o777 == 0o700
    # A process that was killed while it wrote left half a program: it is compiled again.
    largest = max(folder.glob("*-cache"), key=lambda path: path.stat().st_size)
    largest.write_bytes(kept[largest.name][: len(kept[largest.name]) // 2])
    assert classify(tmp_path / "c", cache) == without
    assert largest.stat().st_size > len(kept[largest.name]) // 2


def test_the_users_choice_wins(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv(FOLDER, "elsewhere")
    assert keep_compiled_programs() is None
    assert os.environ[FOLDER] == "elsewhere"
    monkeypatch.delenv(FOLDER)
    monkeypatch.setenv("JAX_ENABLE_COMPILATION_CACHE", "0")
    assert keep_compiled_programs() is None
    assert FOLDER not in os.environ
    assert not list(tmp_path.iterdir())


def test_a_folder_that_others_may_write_to_is_not_used(tmp_path, monkeypatch):
    """Programs are run as they are found."""
    monkeypatch.delenv(FOLDER)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cache_folder().mkdir(parents=True)
    cache_folder().chmod(0o777)
    assert keep_compiled_programs() is None
    assert FOLDER not in os.environ
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert keep_compiled_programs() is None
