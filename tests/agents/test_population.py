"""Populations: what is copied, what is not, and that nothing is lost when they are killed."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import equinox as eqx
import jax
import numpy as np
import pytest

from longpass._fields import replace_settings, to_json
from longpass.agents import (
    SPREAD,
    Population,
    PopulationPlan,
    Round,
    RunSettings,
    copy_weights,
    learning_curve,
    load_network,
    load_settings,
    make_trainer,
    member_settings,
    resolve_settings,
    run_populations,
    train_agent,
    train_round,
)
from longpass.agents._progress import checkpoint_shapes
from longpass.agents._rounds import read_scores
from longpass.jobs import JobProgress, LocalEngine
from longpass.records import Records, from_bytes, to_bytes
from tests.agents.zoo import (
    MADE_UP,
    RUN,
    Here,
    MadeUp,
    assert_same_trees,
    history_of,
    left_behind,
    make_up_round,
    train_population,
    without_seconds,
)

# Real rounds share their program with the tests of runs, so they share a process.
pytestmark = pytest.mark.xdist_group("runs")
KILLS = 12


@pytest.mark.slow
def test_a_population_killed_at_random_moments_leaves_what_an_uninterrupted_one_leaves(tmp_path):
    """kill -9 of the driver; rounds are made up, so that many of them finish between two kills."""
    command = [sys.executable, "-m", "tests.agents.killed_population", str(tmp_path), str(KILLS)]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["kills"] == KILLS
    assert result["partial"], "the last kills came where they could do no harm"
    assert left_behind(tmp_path / "killed") == left_behind(tmp_path / "whole")
    # What was recorded before a kill was not trained again.
    trained = (tmp_path / "killed.trained").read_text().splitlines()
    assert len(trained) == len(set(trained))


def test_stopped_anywhere_it_continues_the_same(tmp_path):
    train_population(Population(MADE_UP, tmp_path / "whole"), MadeUp())
    expected = left_behind(tmp_path / "whole")
    assert any(line["copied"] for line in expected[1])
    total = MADE_UP.size * MADE_UP.rounds
    for cut in (0, 1, 4, 7, 30):
        out = tmp_path / str(cut)
        first, second = MadeUp(fail_after=cut), MadeUp()
        with pytest.raises(OSError, match="the driver is gone"):
            train_population(Population(MADE_UP, out), first)
        train_population(Population(MADE_UP, out, resume=True), second)
        assert left_behind(out) == expected
        assert len(first.trained) + len(second.trained) == total


def test_the_audit_has_every_copy_and_the_next_round_obeys(tmp_path):
    population = Population(MADE_UP, tmp_path)
    train_population(population, MadeUp())
    audit = population.audit.read()
    assert len(audit) == MADE_UP.size * (MADE_UP.rounds - 1)
    copied = {(line["round"], line["member"]): line["other"] for line in audit if line["copied"]}
    # A made-up member remembers whose rounds its weights are from.
    story = {member: [] for member in range(MADE_UP.size)}
    for number in range(MADE_UP.rounds):
        before = dict(story)
        for member in range(MADE_UP.size):
            donor = copied.get((number - 1, member), member)
            story[member] = [*before[donor], [member_settings(MADE_UP, member).seed, number]]
    for member in range(MADE_UP.size):
        path = population.folder(member) / f"round-{MADE_UP.rounds - 1}.npz"
        assert history_of(path.read_bytes()) == story[member]
    rows = population.summary()
    assert sum(row["copies"] for row in rows) == len(copied) > 0
    # What is remembered of rounds is what the records have.
    assert rows == Population(MADE_UP, tmp_path, resume=True).summary()


def test_asking_what_remains_changes_nothing(tmp_path):
    population = Population(dataclasses.replace(MADE_UP, rounds=2), tmp_path)
    for progress in run_populations([population], MadeUp()):
        if progress.job.payload.number == 1:
            break
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    assert population.remaining() == 3
    assert population.estimate_seconds() > 0
    population.summary()
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_more_rounds_may_be_asked_for_later(tmp_path):
    train_population(Population(MADE_UP, tmp_path / "whole"), MadeUp())
    short = dataclasses.replace(MADE_UP, rounds=2)
    train_population(Population(short, tmp_path / "grown"), MadeUp())
    assert not Records(tmp_path / "grown" / "audit.jsonl").read()[MADE_UP.size :]
    train_population(Population(MADE_UP, tmp_path / "grown", resume=True), MadeUp())
    assert left_behind(tmp_path / "grown") == left_behind(tmp_path / "whole")


def test_several_populations_train_side_by_side_and_one_that_fails_stops_alone(tmp_path):
    class Failing(MadeUp):
        def run(self, jobs):
            for progress in super().run(jobs):
                job = progress.job
                bad = job.id == (0, 1) and job.payload.number == 1
                yield JobProgress(job, "failed", error="no") if bad else progress

    two = [Population(MADE_UP, tmp_path / name) for name in "ab"]
    all_progress = list(run_populations(two, Failing()))
    assert [one.job.id for one in all_progress if one.error] == [(0, 1)]
    assert two[0].rounds_done() == [2, 1, 2, 2]
    assert two[1].rounds_done() == [MADE_UP.rounds] * MADE_UP.size
    train_population(two[0], MadeUp())
    assert left_behind(tmp_path / "a") == left_behind(tmp_path / "b")


@pytest.mark.slow
def test_processes_train_what_the_engine_is_given(tmp_path):
    plan = dataclasses.replace(MADE_UP, size=2, rounds=2)
    train_population(Population(plan, tmp_path / "here"), MadeUp())
    train_population(Population(plan, tmp_path / "there"), LocalEngine(make_up_round, 1))
    assert left_behind(tmp_path / "there") == left_behind(tmp_path / "here")


def test_a_folder_belongs_to_one_population(tmp_path):
    short = dataclasses.replace(MADE_UP, rounds=1)
    train_population(Population(short, tmp_path / "a"), MadeUp())
    with pytest.raises(ValueError, match="which holds a population: pass --resume to continue it"):
        Population(MADE_UP, tmp_path / "a")
    before = (tmp_path / "a" / "population.json").read_bytes()
    with pytest.raises(ValueError, match=r"window is 20, but .* was begun with 30"):
        Population(dataclasses.replace(MADE_UP, window=20), tmp_path / "a", resume=True)
    assert (tmp_path / "a" / "population.json").read_bytes() == before
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "thesis.tex").write_text("")
    with pytest.raises(ValueError, match=r"has 'thesis.tex' in it and no population.json"):
        Population(MADE_UP, tmp_path / "b", resume=True)
    population = Population(MADE_UP, tmp_path / "a", resume=True)
    first = run_populations([population], MadeUp())
    next(first)
    with pytest.raises(ValueError, match="which is in use by process"):
        next(run_populations([population], MadeUp()))
    first.close()


@pytest.mark.parametrize("number", [0, 4, 11])
def test_a_round_whose_checkpoint_is_damaged_is_trained_again(tmp_path, number):
    train_population(Population(MADE_UP, tmp_path / "whole"), MadeUp())
    plan, out = dataclasses.replace(MADE_UP, rounds=number + 1), tmp_path / "damaged"
    train_population(Population(plan, out), MadeUp())
    path = out / "members" / "2" / f"round-{number}.npz"
    path.write_bytes(path.read_bytes()[:-30])
    engine = MadeUp()
    train_population(Population(MADE_UP, out, resume=True), engine)
    assert engine.trained[0] == (2, number)
    assert left_behind(out) == left_behind(tmp_path / "whole")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"size": 0}, "size is 0: it must be 1 to 10000"),
        ({"window": 50}, "window is 50: it must be at most 40"),
        ({"window": 1}, "window is 1: it must be 2 to 3000"),
        ({"significance": 1.5}, "significance is 1.5: it must be finite and at least 0"),
        ({"optimiser_state": "lost"}, "optimiser_state is 'lost'"),
        ({"run": RunSettings("CartPole-v1")}, "it must be one of cued-"),
    ],
)
def test_impossible_plans_are_named(change, message, unchecked_types):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(MADE_UP, **change)


def test_members_are_drawn_around_the_common_settings():
    plan = PopulationPlan(run=resolve_settings("t-maze", seed=3), size=200)
    assert member_settings(plan, 0) == plan.run
    drawn = [member_settings(plan, i) for i in range(1, 200)]
    assert drawn[6] == member_settings(dataclasses.replace(plan, size=9), 7)
    assert len({one.seed for one in drawn}) == 199
    for name, value in to_json(plan.run.agent.hyper).items():
        values = [getattr(one.agent.hyper, name) for one in drawn]
        if name in SPREAD:
            # Evenly in the logarithm, over the whole range.
            distances = np.log(np.divide(values, value))
            limit = np.log(SPREAD[name])
            assert abs(distances).max() == pytest.approx(limit, rel=0.05)
            assert abs(distances.mean()) < 0.15 * limit
            assert distances.std() == pytest.approx(limit / np.sqrt(3), rel=0.1)
        else:
            assert set(values) == {value}


# Real rounds from here on, of the smallest network there is.


def a_round(run, number=0, state=None, donor=None):
    return train_round(Round(run, number, 5, 5, state, donor), lambda *_: None)


def checkpoint(state):
    """What these bytes hold."""
    return from_bytes(state, checkpoint_shapes(make_trainer(RUN).state_shapes()), None)


def training(state):
    return checkpoint(state)["training"]


def weights(state):
    """Everything of a state that is copied, as one vector."""
    one = training(state)
    leaves = jax.tree.leaves((one.weights.network, one.weights.learned))
    return np.concatenate([np.ravel(leaf) for leaf in leaves])


def optimised(state):
    """Everything that the optimiser moves: not a slow writer, which is an average."""
    one = training(state).weights
    reader = eqx.filter(one.network, one.network.writing(), inverse=True)
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves((reader, one.learned))])


def of(run, state):
    """The same state, of a member with other hyper-parameters."""
    return to_bytes(checkpoint(state), run.to_json())


def other(**hyper):
    """Another member than RUN's, with its own seed and hyper-parameters."""
    return dataclasses.replace(RUN, seed=8, agent=replace_settings(RUN.agent, hyper))


@pytest.fixture(scope="module")
def two():
    """Two members after a round: one that is to copy (and does not learn), and its donor."""
    return a_round(other(learning_rate=0.0)).state, a_round(RUN).state


@pytest.mark.slow
def test_a_population_of_one_is_a_run(tmp_path):
    plan = PopulationPlan(run=RUN, size=1, rounds=2, episodes=6, window=3)
    population = Population(plan, tmp_path / "population")
    train_population(population, Here())
    member = population.folder(0)
    lines = learning_curve(member)
    train_agent(RUN, tmp_path / "run", lines[-1]["steps"])
    assert without_seconds(lines) == without_seconds(learning_curve(tmp_path / "run"))
    begin = Records(member / "records.jsonl").read()[0]
    assert (begin["event"], begin["settings"]) == ("begin", RUN.to_json())
    assert begin["commit"]
    # The folder is a run's: its network can be loaded, and is that of the run.
    assert load_settings(member) == RUN
    assert_same_trees(load_network(member)[1], load_network(tmp_path / "run")[1])


@pytest.mark.slow
def test_copied_weights_are_used_and_the_members_own_learning_rate_holds(two):
    """A member that does not learn ends the next round with exactly the weights that it copied."""
    copier, donor = two
    still = other(learning_rate=0.0)
    after = a_round(still, 1, copier, donor)
    np.testing.assert_array_equal(optimised(after.state), optimised(donor))
    # They played, too: what the same member earns with its own weights is something else.
    alone = a_round(still, 1, copier)
    np.testing.assert_array_equal(optimised(alone.state), optimised(copier))
    assert np.any(optimised(copier) != optimised(donor))
    entropies = [
        [line["entropy"] for line in one.lines if "entropy" in line] for one in (after, alone)
    ]
    assert entropies[0] != entropies[1]


@pytest.mark.slow
def test_the_members_own_hyper_parameters_hold_after_a_copy(two):
    """From equal weights, donor's hyper-parameters and other ones lead to other places."""
    copier, donor = two
    ends = {
        name: weights(a_round(run, 1, of(run, copier), donor).state)
        for name, run in {
            "as the donor": other(),
            "entropy": other(entropy_cost=0.5),
            "rate": other(learning_rate=0.01),
            "epsilon": other(epsilon=0.1),
        }.items()
    }
    for name, end in ends.items():
        assert np.any(end != weights(donor))
        assert name == "as the donor" or np.any(end != ends["as the donor"]), name


@pytest.mark.slow
def test_what_a_copy_takes_over_and_what_it_leaves(two):
    copier, donor = map(training, two)
    counts = {}
    for kind in ("fresh", "copied", "own"):
        after = copy_weights(copier, donor, RUN.agent.learner, kind)
        for mine, theirs in (
            (after.weights.network, donor.weights.network),
            (after.weights.learned, donor.weights.learned),
            (after.older, donor.older),
            (after.actors.env_state, copier.actors.env_state),
            (after.actors.observation, copier.actors.observation),
        ):
            assert_same_trees(mine, theirs)
        assert (after.key == copier.key).all()
        assert after.updates == copier.updates
        # Memories begin anew, and what is under way is not counted.
        assert all(not np.any(leaf) for leaf in jax.tree.leaves(after.actors.memory))
        assert after.actors.start.all()
        assert not after.actors.complete.any()
        optimiser = after.weights.optimiser
        counts[kind] = int(optimiser.count)
        moments = np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(optimiser.nu)])
        assert moments.any() == (kind != "fresh")
    assert counts == {
        "fresh": 0,
        "copied": int(donor.weights.optimiser.count),
        "own": int(copier.weights.optimiser.count),
    }


@pytest.mark.slow
def test_a_round_is_a_pure_function_of_what_it_is_given(two):
    copier, donor = two
    copier = of(other(), copier)
    one, again = (a_round(other(), 1, copier, donor) for _ in range(2))
    scores = read_scores(one.state)
    np.testing.assert_array_equal(scores, read_scores(again.state))
    np.testing.assert_array_equal(weights(one.state), weights(again.state))
    last = one.lines[-1]
    assert (last["event"], last["round"]) == ("round", 1)
    assert last["scored"] == 5
    assert last["mean"] == pytest.approx(np.mean(scores[-5:]))
    # At least five episodes more, and none more than the last call made.
    episodes = [line["episodes"] for line in one.lines if line["event"] == "progress"]
    before = int(checkpoint(copier)["episodes"])
    assert episodes[-1] - before >= 5
    assert all(count - before < 5 for count in episodes[:-1])


@pytest.mark.slow
def test_a_member_that_diverges_ends_where_it_began_and_takes_whatever_it_samples(two):
    copier, donor = two
    wild = other(learning_rate=1e30)
    after = a_round(wild, 1, of(wild, copier), donor)
    assert [line["event"] for line in after.lines] == ["diverged", "round"]
    assert (after.lines[-1]["mean"], after.lines[-1]["scored"]) == (None, 0)
    np.testing.assert_array_equal(weights(after.state), weights(donor))
