"""Laws of every engine, and each fault that a process can suffer. Ray runs on a real cluster."""

import os
import signal
import subprocess
import sys
import types

import pytest

from longpass.jobs import FailedStartsError, Job, _cluster, make_engine, ray_cluster
from tests.jobs.made_up import obey
from tests.jobs.processes import all_end, cluster_processes, listening_addresses, process_of

pytestmark = pytest.mark.xdist_group("ray")
ENGINES = ("local", "ray")


def jobs(*commands):
    return [Job(index, (command, index)) for index, command in enumerate(commands)]


def reported(progress):
    """What jobs reported: without the turns in which nothing happened."""
    return (one for one in progress if one.state != "waiting")


def finished(progress):
    """{Id of the job: its last progress}; each job ends once."""
    over = [one for one in progress if one.state in ("done", "failed")]
    assert len({one.job.id for one in over}) == len(over)
    return {one.job.id: one for one in over}


@pytest.fixture(scope="module", params=ENGINES)
def name(request):
    if request.param == "ray":
        request.getfixturevalue("address")
    return request.param


@pytest.fixture(scope="module")
def engine(name):
    """Two workers. On Ray they stay from test to test, unless a test has them killed."""
    with make_engine(name, obey, 2) as engine:
        yield engine


def test_every_job_is_done_once_by_workers_that_stay(engine):
    assert engine.workers == 2
    work = jobs(*["square"] * 6)
    progress = list(reported(engine.run(work)))
    assert {id: one.result for id, one in finished(progress).items()} == {
        index: index**2 for index in range(6)
    }
    assert {one.job for one in progress} == set(work)
    assert {(one.state, one.fraction) for one in progress} == {
        ("running", 0.0),
        ("running", 0.5),
        ("done", 1.0),
    }
    assert len({process_of(one) for one in progress if one.scores}) <= 2
    assert list(engine.run([])) == []


def test_jobs_begin_in_the_order_given(name):
    with make_engine(name, obey, 1) as engine:
        progress = list(engine.run(jobs(*["square"] * 4)))
    assert list(dict.fromkeys(one.job.id for one in progress)) == [0, 1, 2, 3]
    assert list(finished(progress)) == [0, 1, 2, 3]


def test_a_job_that_fails_says_why_and_breaks_no_other(engine):
    over = finished(engine.run(jobs("square", "fail", "square")))
    assert [over[index].state for index in range(3)] == ["done", "failed", "done"]
    assert over[1].error == "MemoryError: no room"
    assert over[1].result is None
    assert over[2].error is None


def test_a_result_of_none_is_done_all_the_same(engine):
    (over,) = reported(engine.run(jobs("return None")))
    assert (over.state, over.result) == ("done", None)


def test_a_worker_that_dies_is_replaced_and_its_job_begun_again(engine, tmp_path):
    work = [*jobs("square", "square"), Job(2, ("die once", str(tmp_path / "died")))]
    over = finished(engine.run(work))
    assert [over[index].result for index in range(3)] == [0, 1, "die once"]


def test_a_job_whose_workers_die_fails(engine):
    over = finished(engine.run(jobs("square", "die", "square")))
    assert [over[index].state for index in range(3)] == ["done", "failed", "done"]
    assert over[1].error.startswith("the worker process died twice, last with ")


def test_a_job_whose_workers_are_killed_fails(engine, name):
    victims = set()
    seen = []
    for progress in engine.run(jobs("never end")):
        seen.append(progress)
        if progress.state == "running":
            victims.add(process_of(progress))
            os.kill(process_of(progress), signal.SIGKILL)
    assert len(victims) == 2
    how = "exit code -9" if name == "local" else "the error "
    assert seen[-1].error.startswith(f"the worker process died twice, last with {how}")


def test_closing_ends_the_workers(engine):
    progress = engine.run(jobs("never end", "never end", "square"))
    processes = set()
    while len(processes) < 2:
        processes.add(process_of(next(reported(progress))))
    progress.close()
    assert all_end(processes)


def test_workers_are_gone_with_the_engine(name):
    with make_engine(name, obey, 1) as engine:
        processes = {process_of(one) for one in engine.run(jobs("square")) if one.scores}
    assert processes
    assert all_end(processes)


def test_workers_that_cannot_load_the_work_function_end_the_run(name, monkeypatch):
    """It is in a module that only this process has."""
    module = types.ModuleType("only_here")
    exec("def work(payload, on_progress): pass", module.__dict__)
    monkeypatch.setitem(sys.modules, "only_here", module)
    with (
        make_engine(name, module.work, 1) as engine,
        pytest.raises(FailedStartsError, match=r"^2 workers failed to start, the last one with "),
    ):
        list(engine.run(jobs("square")))


def test_workers_with_one_core_run_xla_in_one_thread(engine):
    """Or two of them take longer than one after the other; benchmarks/ measures that."""
    (over,) = reported(engine.run(jobs("environment")))
    assert over.result["NPROC"] == "1"
    assert over.result["XLA_FLAGS"].endswith("--xla_cpu_multi_thread_eigen=false")


def test_ray_workers_stay_between_runs(address):
    with make_engine("ray", obey, 1) as engine:
        processes = {
            process_of(one)
            for _ in range(2)
            for one in engine.run(jobs("square", "square"))
            if one.scores
        }
    assert len(processes) == 1


def test_a_message_that_is_lost_with_its_node_is_as_a_worker_that_is_lost(address, monkeypatch):
    """One node cannot lose another's memory, so here the error is made up."""
    from ray.exceptions import ObjectLostError

    import ray

    fetch, lost = ray.get, []

    def get(reference, *args, **kwargs):
        found = fetch(reference, *args, **kwargs)
        if getattr(found, "state", None) == "done" and not lost:
            lost.append(found)
            raise ObjectLostError(reference.hex(), None, "")
        return found

    monkeypatch.setattr(ray, "get", get)
    with make_engine("ray", obey, 1) as engine:
        over = finished(engine.run(jobs(*["square"] * 3)))
    assert [over[index].result for index in range(3)] == [0, 1, 4]
    assert len(lost) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "slurm"}, "engine is 'slurm': it must be one of 'local', 'ray'"),
        (
            {"name": "local", "address": "auto"},
            "address is 'auto': it must be left out for the engine 'local'",
        ),
        ({"name": "ray", "workers": 0}, "workers is 0: it must be 1 to 1000"),
        ({"name": "local", "workers": 0}, "workers is 0: it must be 1 to 1000"),
    ],
)
def test_bad_input_is_named(unchecked_types, options, message):
    with pytest.raises(ValueError, match=message), make_engine(work=obey, **options):
        pass


def test_without_ray_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with (
        pytest.raises(ValueError, match=r"engine is 'ray': it needs pip install 'longpass\[ray\]'"),
        make_engine("ray", obey),
    ):
        pass


def test_a_cluster_that_does_not_start_is_said_in_words(monkeypatch):
    """Ray's error is of no kind of its own: the command line would show a traceback."""

    def init(*_, **__):
        raise Exception("The current node timed out during startup.")

    fake = types.SimpleNamespace(is_initialized=lambda: False, init=init)
    fake._private = types.SimpleNamespace(worker=types.SimpleNamespace())
    monkeypatch.setattr(_cluster, "_import_ray", lambda: fake)
    with pytest.raises(OSError, match=r"Ray did not start here \(The current node timed out"):
        ray_cluster(None, 1).__enter__()


def test_a_driver_with_local_workers_loads_neither_ray_nor_jax():
    code = (
        "import sys; from longpass.jobs import Job, LocalEngine, make_engine\n"
        "from tests.jobs.made_up import obey\n"
        "if __name__ == '__main__':\n"
        "    (*_, over) = LocalEngine(obey, 1).run([Job(0, ('square', 3))])\n"
        "    assert over.result == 9\n"
        "    print(sorted({'ray', 'jax'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_a_cluster_that_we_start_listens_on_loopback_only(address):
    found = listening_addresses(cluster_processes())
    # 127.0.0.1 as the kernel writes it, and as an address of IPv6.
    loopback = {"0100007F", "0000000000000000FFFF00000100007F", "0" * 24 + "01000000"}
    assert found, "no process of the cluster was found to listen"
    assert found <= loopback
    assert os.environ["RAY_AUTH_TOKEN"]
