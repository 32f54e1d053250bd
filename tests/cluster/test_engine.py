"""The Ray engine on a real cluster: equal records, and every fault that a process can suffer."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from longpass.agents import Population
from longpass.jobs import Job, LocalEngine, engine_for
from longpass.jobs._ray import RayEngine
from longpass.streams import Plan, Sweep, train
from tests.cluster.toil import Numbers, obey
from tests.search import test_population as populations

pytestmark = pytest.mark.xdist_group("ray")


def jobs(*whats):
    return [Job((i,), ((what, i),)) for i, what in enumerate(whats)]


@pytest.fixture(scope="module")
def engine(address):
    """Two workers, which stay from test to test unless a test has them killed."""
    with RayEngine(2, obey) as engine:
        yield engine


def lives(process):
    return Path(f"/proc/{process}").exists()


def gone(processes):
    """Whether all of them end within half a minute."""
    until = time.monotonic() + 30
    while any(map(lives, processes)) and time.monotonic() < until:
        time.sleep(0.05)
    return not any(map(lives, processes))


def told(update):
    """The process that told this news."""
    return int(update.smoothed[0])


def test_records_are_those_of_the_local_engine(address, tmp_path):
    plan = Plan(
        name="tiny",
        tasks=("two-markers",),
        memories=("chain",),
        truncations=(2,),
        batch_sizes=(4,),
        runs=1,
        symbols=2000,
    )
    sweep = Sweep(plan, tmp_path)
    with engine_for("ray", 1) as engine:
        for update in sweep.carry_out(engine):
            assert update.error is None
    (record,) = sweep.records.read()
    # What a process of the local engine does; tests/search/test_sweep.py holds that to this too.
    (here,) = train((plan.run(0),), lambda share, smoothed: None)
    assert record | {"seconds": 0} == {"sweep": "tiny", "run": 0, **here, "seconds": 0}


def test_a_population_leaves_what_it_leaves_here(address, tmp_path):
    """Rounds are made up, of what a worker is sent alone."""
    with engine_for("ray", 2, populations.made_up_work) as engine:
        populations.train(Population(populations.PLAN, tmp_path / "ray"), engine)
    populations.train(Population(populations.PLAN, tmp_path / "here"), populations.MadeUp())
    assert populations.left_behind(tmp_path / "ray") == populations.left_behind(tmp_path / "here")


def test_workers_stay_and_tell_how_far_they_are(engine):
    work = jobs(*["square"] * 6)
    first, second = (list(engine.carry_out(work)) for _ in range(2))
    for news in (first, second):
        over = [update for update in news if update.records is not None]
        assert sorted(update.job for update in over) == work
        assert all(update.records == [{"square": update.job.runs[0] ** 2}] for update in over)
        assert {update.share for update in news} == {0.0, 0.5, 1.0}
    assert len({told(update) for update in first + second if update.smoothed}) == 2


def test_workers_of_one_core_run_xla_in_one_thread(engine):
    """Or two of them take longer than one after the other; that is measured in benchmarks/."""
    for place in (engine, LocalEngine(1, obey)):
        *_, last = place.carry_out(jobs("threads"))
        (set_to,) = last.records
        assert set_to["NPROC"] == "1"
        assert set_to["XLA_FLAGS"].endswith("--xla_cpu_multi_thread_eigen=false")


def test_a_job_that_fails_says_why_and_breaks_no_other(engine):
    news = engine.carry_out(jobs("square", "fail", "square"))
    errors = {update.job.runs[0]: update.error for update in news if not update.smoothed}
    assert errors == {0: None, 1: "MemoryError: no room", 2: None}


def test_a_worker_that_is_killed_is_replaced_and_its_run_recorded_once(engine, tmp_path):
    sweep = Sweep(Numbers(8), tmp_path)
    killed = []
    for update in sweep.carry_out(engine):
        assert update.error is None
        if update.smoothed and len(killed) < 2 and update.job.runs[0] not in killed:
            os.kill(told(update), signal.SIGKILL)
            killed.append(update.job.runs[0])
    assert len(killed) == 2
    records = sorted(sweep.records.read(), key=lambda record: record["run"])
    assert [record["square"] for record in records] == [i**2 for i in range(8)]


def test_news_that_are_lost_with_their_node_are_as_a_worker_that_is_lost(engine, monkeypatch):
    """One node cannot lose another's memory, so here the error is made up."""
    fetch, lost = engine._ray.get, []

    def get(reference, *args, **kwargs):
        found = fetch(reference, *args, **kwargs)
        if isinstance(found, tuple) and found[2] and not lost:
            lost.append(found)
            raise engine._ray.exceptions.ObjectLostError(reference.hex(), None, "")
        return found

    monkeypatch.setattr(engine._ray, "get", get)
    over = [one for one in engine.carry_out(jobs(*["square"] * 3)) if not one.smoothed]
    assert sorted(one.records[0]["square"] for one in over if one.records) == [0, 1, 4]
    assert len(lost) == 1


def test_a_job_that_ends_its_workers_has_failed(engine):
    victims = set()
    for update in engine.carry_out(jobs("go on")):
        if update.smoothed:
            victims.add(told(update))
            os.kill(told(update), signal.SIGKILL)
    assert len(victims) == 2
    assert "the worker died, 2 times" in update.error


def test_work_stops_when_nobody_listens(engine):
    news = engine.carry_out(jobs("go on", "go on", "square"))
    processes = set()
    while len(processes) < 2:
        processes.add(told(next(news)))
    news.close()
    assert gone(processes)


def test_a_driver_that_is_killed_leaves_no_worker_and_its_sweep_goes_on(address, engine, tmp_path):
    drive = [sys.executable, "-m", "tests.cluster.drive", address, str(tmp_path), "30"]
    root = Path(__file__).parent.parent.parent
    driver = subprocess.Popen(drive, stdout=subprocess.PIPE, text=True, cwd=root)
    processes, done, sweep = set(), set(), Sweep(Numbers(30), tmp_path)
    with driver:
        while len(done) < 3:
            processes.add(int(driver.stdout.readline()))
            done = sweep.done()
        driver.kill()
    assert gone(processes)
    assert len(sweep.done()) < 30
    list(sweep.carry_out(engine))
    records = sorted(sweep.records.read(), key=lambda record: record["run"])
    assert [record["square"] for record in records] == [i**2 for i in range(30)]


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"name": "slurm"}, "engine is 'slurm': it must be one of 'local', 'ray'"),
        ({"name": "local", "address": "auto"}, "address is 'auto': only the engine 'ray' has one"),
        ({"name": "ray", "workers": 0}, "workers is 0: it must be at least 1"),
    ],
)
def test_bad_input_is_named(choice, message):
    with pytest.raises(ValueError, match=message), engine_for(**choice):
        pass


def test_without_ray_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with (
        pytest.raises(ValueError, match=r"engine is 'ray': it needs pip install 'longpass\[ray\]'"),
        engine_for("ray"),
    ):
        pass
