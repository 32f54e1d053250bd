"""Sweeps and populations on engines: what they leave is equal, whatever is killed meanwhile."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from longpass.agents import Population
from longpass.jobs import make_engine
from longpass.streams import Sweep, SweepPlan, train_group
from tests.agents import zoo
from tests.helpers import given
from tests.jobs.made_up import Numbers, square_runs
from tests.jobs.processes import all_end, process_of

pytestmark = pytest.mark.xdist_group("ray")


@pytest.fixture(params=("local", "ray"))
def name(request):
    if request.param == "ray":
        request.getfixturevalue("address")
    return request.param


def squares(sweep):
    records = sorted(sweep.records.read(), key=lambda record: record["run"])
    return [record["square"] for record in records]


def test_records_are_those_of_the_local_engine(address, tmp_path):
    plan = SweepPlan(
        name="tiny",
        tasks=("two-markers",),
        memories=("chain",),
        truncations=(2,),
        batch_sizes=(4,),
        runs=1,
        symbols=2000,
    )
    sweep = Sweep(plan, tmp_path)
    with make_engine("ray", train_group, 1) as engine:
        for progress in sweep.run(engine):
            assert progress.error is None
    (record,) = sweep.records.read()
    # What a process of the local engine does; tests/search/test_sweep.py holds that to this too.
    (here,) = train_group((plan.settings(0),), lambda fraction, scores: None)
    assert record | {"seconds": 0} == {"sweep": "tiny", "run": 0, **here, "seconds": 0}


def test_a_population_leaves_what_it_leaves_here(address, tmp_path):
    """Rounds are made up, only from what a worker is sent."""
    with make_engine("ray", zoo.make_up_round, 2) as engine:
        zoo.train_population(Population(zoo.MADE_UP, tmp_path / "ray"), engine)
    zoo.train_population(Population(zoo.MADE_UP, tmp_path / "here"), zoo.MadeUp())
    assert zoo.left_behind(tmp_path / "ray") == zoo.left_behind(tmp_path / "here")


def test_a_worker_that_is_killed_is_replaced_and_its_run_recorded_once(name, tmp_path):
    sweep = Sweep(Numbers(8), tmp_path)
    killed = []
    with make_engine(name, square_runs, 2) as engine:
        for progress in sweep.run(engine):
            assert progress.error is None
            if progress.scores and len(killed) < 2 and progress.job.id not in killed:
                os.kill(process_of(progress), signal.SIGKILL)
                killed.append(progress.job.id)
    assert len(killed) == 2
    assert squares(sweep) == [i**2 for i in range(8)]


def test_a_driver_that_is_killed_leaves_no_worker_and_its_sweep_resumes(name, request, tmp_path):
    address = request.getfixturevalue("address") if name == "ray" else ""
    drive = [sys.executable, "-m", "tests.jobs.drive", name, address, str(tmp_path), "30"]
    root = Path(__file__).parent.parent.parent
    driver = subprocess.Popen(drive, stdout=subprocess.PIPE, text=True, cwd=root)
    processes, done, sweep = set(), set(), Sweep(Numbers(30), tmp_path)
    with driver:
        while len(done) < 3:
            processes.add(int(given(driver.stdout).readline()))
            done = sweep.done()
        driver.kill()
    assert all_end(processes)
    assert len(sweep.done()) < 30
    with make_engine(name, square_runs, 2) as engine:
        list(sweep.run(engine))
    assert squares(sweep) == [i**2 for i in range(30)]
