"""`pbt`, `reproduce` and the figures of agents, as a user meets them."""

import contextlib
import dataclasses
import io
import json
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread
from rich.console import Console

from longpass import agents, jobs
from longpass._fields import from_json
from longpass.agents import (
    TASK_DEFAULTS,
    Population,
    PopulationPlan,
    PopulationSettings,
    RoundResult,
    estimate_round,
    find_members,
    find_returns,
    learning_curve,
    load_settings,
    make_agent_preset,
    resolve_settings,
)
from longpass.cli import _pbt, main
from longpass.envs import WORLDS
from longpass.figures import _returns
from longpass.jobs import Job, JobProgress, _engines
from longpass.records import Records
from tests.agents.zoo import Here
from tests.helpers import SMALL, TASK, count_shapes, run

# Real rounds share their program with the tests of runs.
pytestmark = pytest.mark.xdist_group("runs")


def make_up_returns(task, on_progress):
    """Records of an agent that nobody trained: a chain ends at its world's best, others do not."""
    mean = 59.0 if task.run.agent.network.memory == "chain" else 30.0
    first = task.number * task.episodes
    lines = [
        {
            "event": "progress",
            "updates": first + n,
            "steps": 740 * (first + n),
            "episodes": first + n,
            "return_100": mean - 1000 / n,
            "return_3000": mean,
        }
        for n in range(500, task.episodes + 1, 500)
    ]
    counts = {"round": task.number, "episodes": first + task.episodes}
    file = io.BytesIO()
    members: dict[str, Any] = {"['scores']": np.array([mean, mean], np.float32)}
    np.savez(file, **members)
    last = {"event": "round", **counts, "mean": mean, "scored": 2}
    return RoundResult(file.getvalue(), [*lines, last])


def interrupt(task, on_progress):
    """The same, and the user presses Ctrl-C meanwhile."""
    os.kill(os.getpid(), signal.SIGINT)
    return make_up_returns(task, on_progress)


@pytest.fixture(scope="module")
def population(tmp_path_factory):
    """What `longpass pbt` of three tiny agents leaves, and what it says."""
    folder = tmp_path_factory.mktemp("population")
    flags = ("--members", 3, "--rounds", 2, "--episodes", 12, "--window", 8, "--significance", 0.9)
    with pytest.MonkeyPatch.context() as patch:
        work_here(patch)
        command = [*map(str, ("pbt", *TASK, *SMALL, *flags, "--out", folder, "--json"))]
        with contextlib.redirect_stdout(io.StringIO()) as out:
            main(command)
        yield folder, command, json.loads(out.getvalue())


def work_here(patch):
    for module in (jobs, _engines):
        patch.setattr(module, "LocalEngine", Here)


@pytest.fixture
def here(monkeypatch):
    work_here(monkeypatch)


@pytest.mark.slow
def test_pbt_reports_its_result_and_resumes(population, capsys):
    folder, command, result = population
    assert (result["task"], result["return_max"], result["failed"]) == ("cued-catch", 3.0, 0)
    assert [row["rounds"] for row in result["members"]] == [2, 2, 2]
    audit = Records(folder / "audit.jsonl").read()
    assert [line["member"] for line in audit] == [0, 1, 2]
    assert sum(row["copies"] for row in result["members"]) == sum(one["copied"] for one in audit)
    for row in result["members"]:
        lines = learning_curve(folder / "members" / str(row["member"]))
        assert lines[-1]["episodes"] == row["episodes"] >= 24
    rates = [row["hyper"]["learning_rate"] for row in result["members"]]
    assert rates[0] == TASK_DEFAULTS["cued-catch"].hyper.learning_rate
    assert len(set(rates)) == 3
    # A second start is refused; one that resumes has nothing left to do.
    code, _, err = run(capsys, *command)
    assert code == 1
    assert "pass --resume to continue it" in err
    code, out, _ = run(capsys, *command, "--resume")
    assert code == 0
    assert json.loads(out)["members"] == result["members"]
    code, out, _ = run(capsys, "evaluate", folder / "members" / "1", "--episodes", 5, "--json")
    assert code == 0


@pytest.mark.slow
def test_the_lineage_shows_every_member_and_copy(population, tmp_path, capsys):
    folder, _, _ = population
    code, _, _ = run(capsys, "figure", "lineage", folder, "--out", tmp_path, "--json")
    assert code == 0
    text = (tmp_path / "lineage.svg").read_text()
    copies = sum(line["copied"] for line in Records(folder / "audit.jsonl").read())
    assert f"{copies} copies in 2 rounds" in text
    for member in range(3):
        assert f"{member}: rate" in text
    assert imread(tmp_path / "lineage.png").ndim == 3
    for names, message in (((), "name one"), ((tmp_path,), "must be the folder of a population")):
        code, _, err = run(capsys, "figure", "lineage", *names, "--out", tmp_path)
        assert code == 1
        assert message in err


@pytest.mark.slow
def test_the_live_table_shows_progress(population):
    folder, _, _ = population
    plan = dataclasses.replace(_plan(folder), rounds=3)
    one = Population(plan, folder, resume=True)
    view = _pbt._View([one], 1000.0, 2)
    _, (member, task), _ = one.next_round()
    job = Job((0, member), dataclasses.replace(task, state=None))
    view.on_progress(JobProgress(job, "running", 0.5, [1.25]))
    text = io.StringIO()
    Console(file=text, width=120).print(view)
    shown = text.getvalue()
    for part in ("3 of 3", "2 of 3", "1.250", "learning", "episodes per second", "left"):
        assert part in shown


def _plan(folder):
    plan = json.loads((folder / "population.json").read_text())["plan"]
    del plan["run"]
    settings = from_json(PopulationSettings, plan)
    return PopulationPlan(run=load_settings(folder / "members" / "0"), **vars(settings))


def test_bad_populations_are_named_before_any_work(tmp_path, capsys, here):
    for flags, status, message in (
        (("--members", 0), 2, "size is 0"),
        (("--window", 40_000), 2, "window is 40000: it must be 2 to 3000"),
        (("--episodes", 2_000), 2, "window is 3000: it must be at most 2000"),
        (("--significance", 2), 2, "significance is 2.0: it must be finite and at least 0"),
        (("--discount", 1.5), 1, "discount is 1.5: it must be finite and at least 0"),
        (("--memory", "lstm", "--normalise", "layer"), 1, "it must be None for lstm"),
    ):
        code, _, err = run(capsys, "pbt", "t-maze", *flags, "--out", tmp_path / "new")
        assert code == status
        assert message in " ".join(err.replace("│", " ").split())
        assert not (tmp_path / "new").exists()


# Figures, from records that nobody trained.


def records_of(
    folder, seed=0, env="cued-catch", params=None, paper=False, ends=(30.0, 58.0), count=40, **flags
):
    """A run of 100 `count` episodes: its return goes from one end to the other, in waves."""
    folder.mkdir(parents=True)
    params = WORLDS[env].load_params()(**params or {})
    run = resolve_settings(env, params, {"block_every": 3} | flags, paper=paper, seed=seed)
    (folder / "settings.json").write_text(json.dumps({"kind": "agent", **run.to_json()}))
    # A straight line would be drawn with two points.
    waves = 0.05 * (ends[1] - ends[0]) * np.sin(np.arange(count))
    returns = np.linspace(ends[0], ends[1], count) + waves
    lines = [
        {
            "event": "progress",
            "updates": n,
            "steps": 740 * n,
            "episodes": 100 * (n + 1),
            "return_100": mean,
            "return_3000": mean,
        }
        for n, mean in enumerate(returns.tolist())
    ]
    Records(folder / "records.jsonl").append([{"event": "begin"}, *lines])


@pytest.mark.slow
def test_rl_counts_only_runs_with_the_papers_settings(tmp_path, capsys):
    lstm = {"memory": "lstm", "block_every": 300, "env": "t-maze"}
    records_of(tmp_path / "a" / "chain-0")
    records_of(tmp_path / "a" / "chain-1", seed=1)
    # The same run again, shorter, in smaller calls; others that do not belong.
    records_of(tmp_path / "conditioning" / "same", count=20, updates_per_call=7)
    records_of(tmp_path / "conditioning" / "paper", seed=2, paper=True)
    records_of(tmp_path / "conditioning" / "slow", seed=2, writer="slow")
    records_of(tmp_path / "a" / "easy", seed=2, params={"reward_free_trials": 5})
    records_of(tmp_path / "a" / "odd", block_every=7)
    records_of(tmp_path / "a" / "short", seed=2, rollout=60)
    records_of(tmp_path / "b" / "lstm", ends=(-1.0, 0.1), **lstm)
    records_of(tmp_path / "b" / "limbo", params={"limbo_time": 70}, ends=(-1.0, 0.7), **lstm)
    records_of(tmp_path / "b" / "bias", longest_time=None, ends=(-1.0, 0.0), **lstm)
    # Runs of streams are not runs of agents.
    (tmp_path / "stream").mkdir()
    (tmp_path / "stream" / "settings.json").write_text('{"kind": "stream"}')
    assert len(find_returns(tmp_path)) == 10
    for name in ("rl", "rl-raw", "lstm-onset"):
        code, _, _ = run(capsys, "figure", name, "--records", tmp_path, "--out", tmp_path / "out")
        assert code == 0
        assert imread(tmp_path / "out" / f"{name}.png").ndim == 3
        # At least one curve per kind of run.
        assert count_shapes(tmp_path / "out" / f"{name}.svg") >= 2
    text = (tmp_path / "out" / "rl.svg").read_text()
    assert "chain: 2 single runs" in text
    assert text.count("lstm: 1 single run<") == 1
    assert "every 7 " not in text
    assert "every 20 " not in text
    text = (tmp_path / "out" / "lstm-onset.svg").read_text()
    for part in ("steps in limbo<", "280: 1 single run<", "70: 1 single run<"):
        assert part in text
    assert "210: no records" in text
    assert "T-maze, LSTM, forget bias 1" in text
    # Chains in the paper's form may have any block_every, ours the longest one only.
    assert "Cued Catch, Concrete, the paper" in text
    assert text.count("40: 1 single run<") == 1
    assert "Concrete (chain)" not in text


def test_a_populations_curve_is_the_mean_of_its_top_three(tmp_path):
    for member, end in enumerate((10.0, 58.0, 40.0, 49.0, 20.0)):
        records_of(tmp_path / "p" / "members" / str(member), seed=member, ends=(end, end))
    (tmp_path / "p" / "population.json").write_text("{}")
    (found,) = find_returns(tmp_path)
    assert (found.members, len(found.curves)) == (5, 3)
    grid = np.array([0.0, 1000.0, 4000.0, 4100.0])
    for smooth in (False, True):
        np.testing.assert_allclose(
            _returns.sample_curve(found, grid, smooth), [np.nan, 49.0, 49.0, np.nan]
        )
    assert _returns.count_runs([found]) == "1 population of 5"


@pytest.mark.parametrize("left", ["nothing", "members", "a member without settings"])
def test_a_population_that_has_just_begun_is_left_out_of_figures(tmp_path, capsys, left):
    folder = tmp_path / "p"
    for path in {"nothing": ["."], "members": ["members"]}.get(left, ["members/0"]):
        (folder / path).mkdir(parents=True)
    (folder / "population.json").write_text("{}")
    records_of(tmp_path / "single")
    assert [one.members for one in find_returns(tmp_path)] == [1]
    code, _, err = run(capsys, "figure", "lineage", folder, "--out", tmp_path)
    assert code == 1
    assert "p': it has no members yet" in err


def test_the_committed_population_can_be_drawn(tmp_path, capsys):
    folder = Path(__file__).parents[2] / "results" / "populations" / "t-maze-100-seed0"
    code, _, err = run(capsys, "figure", "lineage", folder, "--out", tmp_path)
    assert code == 0, err
    assert (tmp_path / "lineage.png").exists()


def test_members_are_folders_with_settings_in_the_order_of_their_numbers(tmp_path):
    for member in (10, 2, 0):
        records_of(tmp_path / "members" / str(member), seed=member)
    (tmp_path / "members" / ".DS_Store").write_text("not a member")
    (tmp_path / "members" / "11").mkdir()
    records_of(tmp_path / "members" / "copy of 2")
    (tmp_path / "population.json").write_text("{}")
    assert [path.name for path in find_members(tmp_path)] == ["0", "2", "10"]
    (found,) = find_returns(tmp_path)
    assert found.members == 3


def test_the_band_is_students_interval_over_runs(tmp_path):
    from matplotlib.figure import Figure
    from scipy import stats

    ends = (30.0, 40.0, 45.0)
    for seed, end in enumerate(ends):
        records_of(tmp_path / str(seed), seed=seed, ends=(end, end))
    axis = Figure().subplots()
    _returns.draw_runs(axis, find_returns(tmp_path), 4000.0, "chain", True, 1e3, color="k")
    corners = np.asarray(axis.collections[0].get_paths()[0].vertices)[:, 1]
    low, high = stats.t.interval(0.95, 2, np.mean(ends), stats.sem(ends))
    assert (corners.min(), corners.max()) == pytest.approx((low, high))


def test_ends_are_drawn_with_students_interval(tmp_path):
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure
    from scipy import stats

    ends = (30.0, 40.0, 45.0)
    for seed, end in enumerate(ends):
        records_of(tmp_path / str(seed), seed=seed, ends=(end, end))
    runs = find_returns(tmp_path)
    axis = Figure().subplots()
    _returns.draw_ends(axis, 2.0, runs, "chain", color="k")
    (dots,) = [line for line in axis.lines if line.get_marker() == "."]
    places = np.asarray(dots.get_xydata())
    assert sorted(map(tuple, places.tolist())) == [(2.0, end) for end in ends]
    (bar,) = [one for one in axis.collections if isinstance(one, LineCollection)]
    (segment,) = bar.get_segments()
    low, high = stats.t.interval(0.95, 2, np.mean(ends), stats.sem(ends))
    assert (segment[:, 1].min(), segment[:, 1].max()) == pytest.approx((low, high))
    diverged = [dataclasses.replace(run, diverged=True) for run in runs]
    empty = Figure().subplots()
    _returns.draw_ends(empty, 2.0, diverged, "chain", color="k")
    assert not empty.lines


def test_a_dot_marks_where_a_solved_run_ended(tmp_path):
    from matplotlib.figure import Figure

    records_of(tmp_path / "run", seed=0, ends=(30.0, 40.0))
    (run,) = find_returns(tmp_path)
    solved = dataclasses.replace(run, solved=True)
    axis = Figure().subplots()
    _returns.draw_runs(axis, [run, solved], 2 * run.end, "chain", False, 1e3, color="k")
    (dot,) = [line for line in axis.lines if line.get_marker() == "."]
    assert dot.get_xydata() == pytest.approx(np.array([[run.end / 1e3, run.score]]), abs=0.5)


def test_figures_without_records_say_so(tmp_path, capsys):
    for name in ("rl", "lstm-onset"):
        code, _, err = run(capsys, "figure", name, "--records", tmp_path, "--out", tmp_path)
        assert code == 1
        assert "there are no records of" in err


def test_what_presets_train():
    quick = make_agent_preset("quick", "cued-catch")
    assert list(quick) == ["cued-catch/quick-chain-3-seed0", "cued-catch/quick-lstm-3-seed0"]
    for plan in quick.values():
        assert (plan.size, plan.run.params.reward_free_trials) == (1, 40)
        # Two at once, on two cores: minutes.
        assert 60 < estimate_round(plan.run, plan.episodes) < 240
    paper = make_agent_preset("paper", "t-maze")
    assert len(paper) == 2 * 4 * 5
    assert {(one.size, one.episodes, one.window) for one in paper.values()} == {(9, 30000, 3000)}
    onset = make_agent_preset("laptop", "lstm-onset")
    assert len(onset) == 10 * 3
    # The hardest ones are those of the worlds' own figure: they are not trained twice.
    assert set(onset) & set(make_agent_preset("laptop", "t-maze")) == {
        f"t-maze/laptop-lstm-300-seed{seed}" for seed in range(3)
    }
    assert len(make_agent_preset("laptop", "sequence-recall")) == 3 * 2 * 3


@pytest.mark.slow
def test_reproduce_trains_a_worlds_agents_and_draws_them(tmp_path, capsys, here, monkeypatch):
    command = ("reproduce", "--only", "cued-catch", "--out", tmp_path, "--json")
    monkeypatch.setattr(agents, "train_round", interrupt)
    code, _, err = run(capsys, *command)
    assert code == 130
    assert "about 4 min on 1 worker, into" in err
    assert f"stopped: longpass reproduce --only cued-catch --out {tmp_path} --json continues" in err
    monkeypatch.setattr(agents, "train_round", make_up_returns)
    code, out, _ = run(capsys, *command)
    assert code == 0
    result = json.loads(out)
    cells = {cell["memory"]: cell for cell in result["agents"]["cells"]}
    assert (cells["chain"]["return_mean"], cells["lstm"]["return_mean"]) == (59.0, 30.0)
    assert all(cell["return_max"] == 60.0 for cell in cells.values())
    assert sorted(result["figures"]) == ["rl", "rl-raw"]
    assert (tmp_path / "figures" / "rl-quick.png").exists()
    assert (tmp_path / "agents-quick" / "cued-catch" / "quick-lstm-3-seed0").is_dir()
    # Again: nothing is trained twice.
    monkeypatch.setattr(agents, "train_round", None)
    code, out, _ = run(capsys, *command)
    assert code == 0
    assert json.loads(out)["agents"]["cells"] == result["agents"]["cells"]
