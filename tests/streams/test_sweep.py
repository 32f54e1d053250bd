"""A sweep may be stopped at any moment: nothing is lost, nothing is recorded twice."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from longpass._fields import to_json
from longpass.jobs import JobProgress, LocalEngine
from longpass.records import InMemory, train_run
from longpass.streams import StreamTraining, Sweep, SweepPlan, train_group
from tests.helpers import given

TINY = SweepPlan(
    name="tiny",
    tasks=("two-markers",),
    memories=("chain",),
    truncations=(2, 4),
    batch_sizes=(4,),
    runs=2,
    symbols=2000,
)
KILLS = 20


class FakeEngine:
    """Makes up results, at once."""

    workers = 1

    def run(self, jobs):
        for job in jobs:
            lines = [
                {
                    "event": "result",
                    "kind": "stream",
                    "settings": to_json(one),
                    "accuracy": 0.5,
                    "diverged": None,
                    "symbols": one.symbols,
                }
                for one in job.payload
            ]
            yield JobProgress(job, "done", 1.0, result=lines)


@pytest.mark.slow
def test_a_sweep_killed_at_random_moments_has_what_an_uninterrupted_one_has(tmp_path):
    """kill -9, twenty times; runs are made up, so that many of them finish between two kills."""
    script = Path(__file__).parent / "killed_sweep.py"
    done = subprocess.run(
        [sys.executable, script, str(tmp_path), str(KILLS)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["kills"] == KILLS
    assert result["torn or partial"] > KILLS / 2, "the kills came where they could do no harm"
    killed, whole = (
        [json.loads(line) for line in (tmp_path / name / "records.jsonl").read_text().splitlines()]
        for name in ("killed", "whole")
    )
    assert len(killed) == len(whole) == result["runs"]
    assert sorted(killed, key=lambda line: line["run"]) == sorted(
        whole, key=lambda line: line["run"]
    )


@pytest.mark.slow
def test_a_run_in_a_worker_is_the_run_alone(tmp_path):
    sweep = Sweep(dataclasses.replace(TINY, truncations=(2,), runs=1), tmp_path)
    for progress in sweep.run(LocalEngine(train_group, 1)):
        assert progress.error is None
    (line,) = sweep.records.read()
    assert (line["event"], line["kind"]) == ("result", "stream")
    assert (line["sweep"], line["run"], line["together"]) == ("tiny", 0, 1)
    assert {"version", "commit", "jax", "machine", "date"} <= set(line)
    training, sink = StreamTraining([sweep.plan.settings(0)]), InMemory()
    assert train_run(training, sink)
    (alone,) = sink.lines
    for name in set(alone) - {"seconds"}:
        assert line[name] == alone[name]
    assert sweep.remaining() == []
    assert list(sweep.run(LocalEngine(train_group, 1))) == []


@pytest.mark.slow
def test_a_worker_that_is_killed_twice_leaves_its_run_to_the_next_sweep(tmp_path):
    sweep = Sweep(dataclasses.replace(TINY, truncations=(2,), runs=1), tmp_path)
    jobs = sweep.run(LocalEngine(work_without_end, 1))
    assert next(one for one in jobs if one.state != "waiting").state == "running"
    victims = _children()
    assert victims
    for victim in victims:
        os.kill(victim, signal.SIGKILL)
    survivors = []
    for progress in jobs:
        assert progress.job.id == (0,)
        if progress.state == "waiting":
            continue
        survivors = [one for one in _children() if one not in victims]
        if survivors:
            break
    for victim in survivors:
        os.kill(victim, signal.SIGKILL)
    last = list(jobs)[-1]
    assert last.state == "failed"
    assert "died twice" in given(last.error)
    assert sweep.done() == set()
    assert [job.id for job in sweep.remaining()] == [(0,)]
    assert not _children()


def work_without_end(settings, on_progress):
    while True:
        on_progress(0.5, [0.25])
        time.sleep(0.02)


def _children():
    """Worker processes of this one that live."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rsplit(")", 1)[1].split()[1])
            command = (path / "cmdline").read_bytes()
        except (OSError, IndexError):
            continue
        if parent == os.getpid() and b"spawn_main" in command:
            found.append(int(path.name))
    return found


def test_an_incomplete_last_line_costs_its_run_only(tmp_path):
    sweep = Sweep(TINY, tmp_path)
    list(sweep.run(FakeEngine()))
    assert sweep.done() == {0, 1, 2, 3}
    content = sweep.records.path.read_bytes()
    sweep.records.path.write_bytes(content[:-20])
    again = Sweep(TINY, tmp_path)
    assert "is incomplete" in given(again.warning)
    assert again.done() == {0, 1, 2}
    list(again.run(FakeEngine()))
    assert again.records.path.read_bytes() == content
    assert Sweep(TINY, tmp_path).warning is None


def test_a_folder_belongs_to_one_plan(tmp_path):
    Sweep(TINY, tmp_path / "a")
    Sweep(TINY, tmp_path / "a")
    with pytest.raises(ValueError, match=r"seed is 1, but .* was begun with 0"):
        Sweep(dataclasses.replace(TINY, seed=1), tmp_path / "a")
    foreign = tmp_path / "b"
    foreign.mkdir()
    (foreign / "thesis.tex").write_text("")
    with pytest.raises(ValueError, match=r"has 'thesis.tex' in it and no plan.json"):
        Sweep(TINY, foreign)
    (foreign / "plan.json").write_text("{")
    with pytest.raises(ValueError, match="is not a plan"):
        Sweep(TINY, foreign)


def test_a_second_sweep_in_the_same_folder_is_refused(tmp_path):
    first = Sweep(TINY, tmp_path).run(FakeEngine())
    next(first)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ValueError, match=f"in use by process {os.getpid()}"):
        next(Sweep(TINY, tmp_path).run(FakeEngine()))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    first.close()
    assert len(list(Sweep(TINY, tmp_path).run(FakeEngine()))) == 3


def test_a_run_that_fails_breaks_no_other(tmp_path):
    class Failing(FakeEngine):
        def run(self, jobs):
            first, *rest = jobs
            yield JobProgress(first, "failed", error="MemoryError: no")
            yield from super().run(rest)

    sweep = Sweep(TINY, tmp_path)
    list(sweep.run(Failing()))
    assert sweep.done() == {1, 2, 3}
    assert [job.id for job in sweep.remaining()] == [(0,)]


def test_the_summary_counts(tmp_path):
    sweep = Sweep(TINY, tmp_path)
    list(sweep.run(FakeEngine()))
    cell = {"task": "two-markers", "memory": "chain", "runs": 2, "best": 0.5, "solved": 0}
    assert sweep.summary() == [
        cell | {"truncation": 2, "diverged": 0},
        cell | {"truncation": 4, "diverged": 0},
    ]
