"""Studies: many agents, one line each, nothing lost and nothing trained twice."""

import collections
import dataclasses
import itertools
import json

import pytest

from longpass._fields import replace_settings, to_json
from longpass.agents import (
    COMMON,
    GATED_VARIANTS,
    GATES,
    ONSET,
    ONSET_BLOCK_EVERY,
    PAPER_DEFAULTS,
    PAPER_FORM,
    POOLS,
    RETURNS,
    WRITER_RATES,
    RunSettings,
    Study,
    StudyPlan,
    StudyRun,
    default_settings,
    draw_paper_form,
    draw_settings,
    find_returns,
    has_defaults,
    learning_curve,
    resolve_settings,
    train_study_run,
)
from longpass.jobs import JobProgress
from longpass.records import RECORDS, Diverged, Records, train_run
from tests.agents.zoo import RUN, Here

# An update of RUN is 80 steps; a call makes two.
STEPS = 800
RUNS = [
    StudyRun(dataclasses.replace(RUN, seed=seed), STEPS, enough_steps=STEPS) for seed in range(3)
]


def save_after_every_call(*args, **options):
    """`train_run`, with a checkpoint after every call."""
    return train_run(*args, **options | {"save_seconds": 0.0})


def interrupt_at(call):
    """A callback that presses Ctrl-C once, at this call."""
    calls = itertools.count(1)

    def interrupt(fraction, scores):
        if next(calls) == call:
            raise KeyboardInterrupt

    return interrupt


class Stops(Here):
    """An engine that is stopped after a number of jobs."""

    def __init__(self, after):
        super().__init__(train_study_run)
        self._after = after

    def run(self, jobs):
        for count, job in enumerate(jobs):
            if count == self._after:
                return
            yield from super().run([job])


@pytest.mark.slow
def test_a_study_that_was_stopped_is_continued(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    for _ in Study("all", RUNS, one).run(Here(train_study_run)):
        pass
    for after in (1, 1, 5):
        for _ in Study("all", RUNS, other).run(Stops(after)):
            pass
    study, again = Study("all", RUNS, one), Study("all", RUNS, other)
    assert not study.remaining()
    assert not list((one / "unfinished").iterdir())
    lines = [
        {name: value for name, value in line.items() if name not in ("seconds", "date")}
        for line in study.results()
    ]
    assert lines == [
        {name: value for name, value in line.items() if name not in ("seconds", "date")}
        for line in again.results()
    ]
    first = lines[0]
    assert RunSettings.from_json(first["settings"]) == RUNS[0].run
    assert first["steps"] == STEPS
    assert first["optimiser_steps"] == first["updates"] * 2
    assert first["curve"]["steps"] == sorted(first["curve"]["steps"])
    assert first["curve"]["return_100"][-1] == pytest.approx(first["return_100"], rel=1e-4)
    # More runs are trained, those that are recorded are not.
    more = [*RUNS, dataclasses.replace(RUNS[0], run=dataclasses.replace(RUN, seed=9))]
    assert [job.payload.task.run.seed for job in Study("all", more, one).remaining()] == [9]
    # Figures read them; what counts is chosen.
    (read, *_) = find_returns(one, "optimiser_steps")
    assert read.curves[0][0][-1] == first["optimiser_steps"]


@pytest.mark.slow
def test_an_agent_continues_from_its_checkpoint_and_ends_when_its_world_is_solved(
    tmp_path, monkeypatch
):
    (job,) = Study("one", RUNS[:1], tmp_path).remaining()
    interrupt = interrupt_at(3)
    monkeypatch.setattr("longpass.agents._run.train_run", save_after_every_call)
    with pytest.raises(KeyboardInterrupt):
        train_study_run(job.payload, interrupt)
    assert learning_curve(job.payload.folder)
    assert not find_returns(tmp_path), "an unfinished agent counts"
    monkeypatch.undo()
    train_study_run(job.payload, interrupt)
    assert [line["updates"] for line in learning_curve(job.payload.folder)] == [2, 4, 6, 8, 10]
    # From 320 steps on it ends once the mean is high enough, here at once.
    monkeypatch.setattr("longpass.agents._study_run.SOLVED", -100.0)
    monkeypatch.setattr("longpass.agents._study_run.LAST", 5)
    easy = StudyRun(dataclasses.replace(RUN, seed=5), STEPS, enough_steps=320)
    (job,) = Study("one", [easy], tmp_path).remaining()
    line = train_study_run(job.payload, lambda *_: None)
    assert line["solved"]
    assert line["steps"] == 320


def test_an_agent_that_diverges_at_once_after_it_was_stopped_keeps_what_it_had(
    tmp_path, monkeypatch
):
    (job,) = Study("one", RUNS[:1], tmp_path).remaining()
    interrupt = interrupt_at(2)
    monkeypatch.setattr("longpass.agents._run.train_run", save_after_every_call)
    with pytest.raises(KeyboardInterrupt):
        train_study_run(job.payload, interrupt)
    monkeypatch.undo()

    def diverge(*args, **options):
        raise Diverged("not finite", {"event": "diverged", "updates": 6, "what": ["loss"]})

    monkeypatch.setattr("longpass.agents._run.train_run", diverge)
    line = train_study_run(job.payload, lambda *_: None)
    # The second call was recorded, and not saved.
    assert (line["diverged"], line["updates"], line["steps"]) == (6, 2, 160)


def test_a_study_refuses_what_is_not_one(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match=r"notes\.txt.*the folder of a study"):
        Study("all", RUNS, tmp_path)


def test_an_agent_that_was_recorded_before_a_setting_was_added_is_not_trained_again(tmp_path):
    study = Study("all", RUNS, tmp_path)
    names = [run.name for run in RUNS]
    result = {"seconds": 1.0, "return_500": None, "return_max": None, "solved": False}
    curve = {key: [] for key in ("steps", "optimiser_steps", "episodes", "return_100")}
    rest = {**result, "event": "result", "diverged": None, "curve": curve}
    lines = [{"name": one.name, **one.to_json(), **rest} for one in RUNS[:2]]
    for line in lines:
        del line["settings"]["agent"]["hyper"]["entropy_halvings_per_million_steps"]
    lines[1]["name"] = "as it was called then"
    study.records.append(lines)
    assert [line["name"] for line in study.results()] == names[:2]
    assert [job.id for job in study.remaining()] == names[2:]
    study.records.append([lines[0] | {"settings": lines[0]["settings"] | {"colour": "red"}}])
    with pytest.raises(
        ValueError, match=r"records\.jsonl has a result .*: colour is not a setting"
    ):
        study.remaining()


def test_a_failed_agent_is_not_recorded(tmp_path):
    class Fails:
        workers = 1

        def run(self, jobs):
            for job in jobs:
                yield JobProgress(job, "failed", error="no memory")

    study = Study("all", RUNS, tmp_path)
    assert [progress.state for progress in study.run(Fails())] == ["failed"] * 3
    assert len(study.remaining()) == 3
    assert not Records(tmp_path / RECORDS).read()


def test_every_panel_of_the_figures_has_as_many_agents_of_every_memory():
    runs = StudyPlan("returns", runs=5).make_runs()
    cells = collections.Counter(
        (one.run.env, one.run.agent.learner.block_every, one.run.agent.network.memory)
        for one in runs
    )
    assert set(cells) == {
        (task, block, memory)
        for task, row in RETURNS.items()
        for block in row.block_every
        for memory in row.memories
    }
    assert set(cells.values()) == {5}
    assert all(has_defaults(one.run) for one in runs)
    names = [one.name for one in runs]
    assert len(set(names)) == len(names)


def test_all_memories_get_the_same_search():
    """What memories have in common is drawn alike; each has two settings of its own beside it."""
    runs = StudyPlan("search", runs=12).make_runs()
    cells = collections.Counter((one.run.env, one.run.agent.network.memory) for one in runs)
    assert set(cells.values()) == {12}
    worlds, same = collections.defaultdict(set), collections.defaultdict(list)
    for one in runs:
        worlds[one.run.env].add(one.run.params)
    assert set(worlds) == set(RETURNS)
    assert [len(params) for params in worlds.values()] == [1] * len(worlds)
    for task, panel in ONSET.items():
        (params,) = worlds[task]
        assert getattr(params, panel.param) == min(panel.values)
    own = {"memory", "num_pools", *POOLS, *GATES}
    for one in runs:
        network = to_json(one.run.agent.network)
        alike = {**to_json(one.run), "network": {k: v for k, v in network.items() if k not in own}}
        del alike["agent"]["network"]
        same[one.run.env, one.run.seed].append(alike)
    for alike in same.values():
        assert alike == alike[:1] * len(alike)
    assert len(POOLS) == len(GATES) == 2
    for task in RETURNS:
        chain, lstm = (draw_settings(task, memory, 3) for memory in ("chain", "lstm"))
        assert {name: chain[name] for name in COMMON} == {name: lstm[name] for name in COMMON}
        assert set(chain) == {*COMMON, *POOLS}
        assert set(lstm) == {*COMMON, *GATES}
        assert draw_settings(task, "chain", 4) != chain
        assert json.loads(json.dumps(chain)) == chain
    assert draw_settings("t-maze", "chain", 3) != draw_settings("cued-catch", "chain", 3)


def test_the_papers_own_form_is_searched_at_the_easiest_difficulty():
    runs = [one.run for one in StudyPlan("paper-search", runs=12).make_runs()]
    assert collections.Counter(run.env for run in runs) == dict.fromkeys(ONSET, 12)
    for run in runs:
        network = run.agent.network
        assert (network.writer, network.embedding, network.normalise) == ("learned", "plain", None)
        panel = ONSET[run.env]
        assert getattr(run.params, panel.param) == min(panel.values)
        assert run.agent == replace_settings(run.agent, draw_paper_form(run.env, run.seed))
        assert set(draw_paper_form(run.env, run.seed)) == set(PAPER_FORM)
    drawn = [draw_paper_form("t-maze", i) for i in range(12)]
    assert {one["optimiser"] for one in drawn} == {"adam", "rmsprop"}
    assert len({one["learning_rate"] for one in drawn}) == 12


def test_the_papers_form_has_settings_of_its_own_only_with_pools():
    for task, own in PAPER_DEFAULTS.items():
        chain = default_settings(task, "chain", paper=True)
        assert chain == replace_settings(chain, own)
        assert chain.hyper != default_settings(task, "chain").hyper
        lstm = default_settings(task, "lstm", paper=True)
        assert lstm.hyper == default_settings(task, "lstm").hyper


def test_variants_of_the_lstm_differ_in_one_setting_each():
    found = {}
    for one in StudyPlan("gated-variants", runs=1).make_runs():
        run = one.run
        memory = run.agent.network.memory
        lstm = resolve_settings(run.env, None, {"memory": "lstm", "block_every": ONSET_BLOCK_EVERY})
        changed = [
            name
            for name, changes in GATED_VARIANTS.items()
            if run.agent == replace_settings(lstm.agent, changes)
        ]
        assert (memory == "gru") == (changed == ["GRU"])
        found.setdefault(run.env, []).extend(changed)
    assert found["cued-catch"] == list(GATED_VARIANTS)
    assert found["t-maze"] == [name for name in GATED_VARIANTS if name != "2 copies"]


def test_writer_rates_differ_in_nothing_else():
    runs = [one.run for one in StudyPlan("writer-rates", runs=2).make_runs()]
    assert len(runs) == 2 * len(WRITER_RATES)
    assert len({replace_settings(run.agent, {"writer_rate": 1.0}) for run in runs}) == 1
    assert {run.agent.hyper.writer_rate for run in runs} == set(WRITER_RATES)


def test_some_difficulties_of_a_study():
    hard = StudyPlan("paper-form", difficulties=(40, 280), runs=2).make_runs()
    assert len(hard) == 2 * len(ONSET)
    assert all(has_defaults(one.run, paper=True) for one in hard)
    with pytest.raises(ValueError, match="difficulties has 41: it must be among 0, 5, 10, 20, 40"):
        StudyPlan("paper-form", difficulties=(41,))


def test_some_lengths_of_gradients_of_a_study():
    long = StudyPlan("returns", block_every=(100, 300), runs=2).make_runs()
    assert long == [
        one
        for one in StudyPlan("returns", runs=2).make_runs()
        if one.run.agent.learner.block_every >= 100
    ]
    with pytest.raises(ValueError, match="block_every has 30: it must be among 3, 20, 100, 300"):
        StudyPlan("returns", block_every=(30,))
    with pytest.raises(ValueError, match=r"paper-form has no agent with block_every \(300,\)"):
        StudyPlan("paper-form", block_every=(300,)).make_runs()


def test_every_agent_may_take_the_optimiser_steps_that_are_asked_for():
    """Frames are not optimiser steps: an agent with many copies gets more of the first."""
    plan = StudyPlan("search", runs=12, steps=4e6, optimiser_steps=2000)
    budgets = {}
    for one in plan.make_runs():
        learner = one.run.agent.learner
        updates = one.steps / learner.steps
        assert one.steps >= 4e6
        assert updates * learner.optimiser_steps >= 2000
        budgets[learner.envs] = one.steps
    assert budgets == {2: 4_000_000, 4: 4_000_000, 8: 4_800_000}


def test_unknown_worlds_are_refused():
    with pytest.raises(ValueError, match="tasks is 'chess': it must be one of cued-catch"):
        StudyPlan("returns", tasks=("chess",))
