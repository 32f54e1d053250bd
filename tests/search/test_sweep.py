"""A sweep may be ended at any moment: nothing is lost, nothing is recorded twice."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from longpass.learners import Group
from longpass.search import LocalEngine, Plan, Sweep, Update
from tests.helpers import given

TINY = Plan(
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
    """Makes records of nothing, at once."""

    def carry_out(self, jobs):
        for job in jobs:
            records = [
                {
                    "settings": one.to_dict(),
                    "accuracy": 0.5,
                    "diverged": None,
                    "symbols": one.symbols,
                }
                for one in job.settings
            ]
            yield Update(job, 1.0, [], records=records)


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
        [json.loads(line) for line in (tmp_path / name / "runs.jsonl").read_text().splitlines()]
        for name in ("killed", "whole")
    )
    assert len(killed) == len(whole) == result["runs"]
    assert sorted(killed, key=lambda record: record["run"]) == sorted(
        whole, key=lambda record: record["run"]
    )


@pytest.mark.slow
def test_real_runs_by_processes_are_those_of_the_run_alone(tmp_path):
    sweep = Sweep(dataclasses.replace(TINY, truncations=(2,), runs=1), tmp_path)
    for update in sweep.carry_out(LocalEngine(1)):
        assert update.error is None
    records = {record["run"]: record for record in sweep.records.read()}
    assert sorted(records) == [0]
    for i, record in records.items():
        assert record["sweep"] == "tiny"
        alone = Group([sweep.plan.run(i)])
        alone.advance(1e9)
        (score,) = alone.finish()
        assert record["settings"] == sweep.plan.run(i).to_dict()
        assert {name: record[name] for name in ("accuracy", "curve", "sequences")} == {
            "accuracy": score.accuracy,
            "curve": score.curve,
            "sequences": score.sequences,
        }
    assert sweep.left() == []
    assert list(sweep.carry_out(LocalEngine(1))) == []


@pytest.mark.slow
def test_a_worker_that_is_killed_is_replaced_and_its_run_recorded_once(tmp_path):
    sweep = Sweep(dataclasses.replace(TINY, truncations=(2,), runs=1), tmp_path)
    news = sweep.carry_out(LocalEngine(1, work=toil))
    next(news)
    victims = _children()
    assert victims
    for victim in victims:
        os.kill(victim, signal.SIGKILL)
    survivors = []
    for update in news:
        assert update.job.runs == (0,)
        survivors = [one for one in _children() if one not in victims]
        if survivors:
            break
    for victim in survivors:
        os.kill(victim, signal.SIGKILL)
    last = list(news)[-1]
    assert "the process died" in given(last.error)
    assert sweep.done() == set()
    assert not _children()


def toil(settings, watch):
    """Work that has no end."""
    while True:
        watch(0.5, [0.25])
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


def test_a_broken_last_line_costs_its_run_only(tmp_path):
    sweep = Sweep(TINY, tmp_path)
    list(sweep.carry_out(FakeEngine()))
    assert sweep.done() == {0, 1, 2, 3}
    content = sweep.records.path.read_bytes()
    sweep.records.path.write_bytes(content[:-20])
    again = Sweep(TINY, tmp_path)
    assert "is broken off" in given(again.warning)
    assert again.done() == {0, 1, 2}
    list(again.carry_out(FakeEngine()))
    assert again.records.path.read_bytes() == content
    assert Sweep(TINY, tmp_path).warning is None


def test_a_folder_belongs_to_one_plan(tmp_path):
    Sweep(TINY, tmp_path / "a")
    Sweep(TINY, tmp_path / "a")
    with pytest.raises(ValueError, match=r"seed is 1, but the sweep in .* has 0"):
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
    first = Sweep(TINY, tmp_path).carry_out(FakeEngine())
    next(first)
    with pytest.raises(ValueError, match="in which a sweep is running"):
        next(Sweep(TINY, tmp_path).carry_out(FakeEngine()))
    first.close()
    assert len(list(Sweep(TINY, tmp_path).carry_out(FakeEngine()))) == 3


def test_a_run_that_fails_breaks_no_other(tmp_path):
    class Failing(FakeEngine):
        def carry_out(self, jobs):
            first, *rest = jobs
            yield Update(first, 0.0, [], error="MemoryError: no")
            yield from super().carry_out(rest)

    sweep = Sweep(TINY, tmp_path)
    list(sweep.carry_out(Failing()))
    assert sweep.done() == {1, 2, 3}
    assert [job.runs for job in sweep.left()] == [(0,)]


def test_the_summary_counts(tmp_path):
    sweep = Sweep(TINY, tmp_path)
    list(sweep.carry_out(FakeEngine()))
    cell = {"task": "two-markers", "memory": "chain", "runs": 2, "best": 0.5, "solved": 0}
    assert sweep.summary() == [
        cell | {"truncation": 2, "diverged": 0},
        cell | {"truncation": 4, "diverged": 0},
    ]
