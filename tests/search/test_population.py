"""Populations: what is copied, what stays, and that nothing is lost when they are cut off."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import equinox as eqx
import jax
import numpy as np
import pytest

from longpass._settings import AgentFields
from longpass.learners import (
    Config,
    Progress,
    Round,
    Run,
    configure,
    copied,
    curve,
    load_network,
    train_round,
)
from longpass.learners._progress import to_save
from longpass.results import Records, from_bytes, to_bytes
from longpass.search import SPREAD, LocalEngine, Members, Population, Update, carry_out
from tests.learners.small_runs import CONFIG
from tests.search.killed_population import PLAN, made_up_work
from tests.search.made_up import MadeUp, left_behind, train

# Real rounds share their program with the tests of runs, so they share a process.
pytestmark = pytest.mark.xdist_group("runs")
KILLS = 12


@pytest.mark.slow
def test_a_population_killed_at_random_moments_leaves_what_an_uninterrupted_one_leaves(tmp_path):
    """kill -9 of the driver; rounds are made up, so that many of them finish between two kills."""
    script = Path(__file__).parent / "killed_population.py"
    done = subprocess.run(
        [sys.executable, script, str(tmp_path), str(KILLS)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["kills"] == KILLS
    assert result["partial"], "the last kills came where they could do no harm"
    assert left_behind(tmp_path / "killed") == left_behind(tmp_path / "whole")
    # What was written down before a kill was not trained again.
    trained = (tmp_path / "killed.trained").read_text().splitlines()
    assert len(trained) == len(set(trained))


def test_cut_off_anywhere_it_goes_on_the_same(tmp_path):
    train(Population(PLAN, tmp_path / "whole"), MadeUp())
    expected = left_behind(tmp_path / "whole")
    assert any(line["copied"] for line in expected[1])
    total = PLAN.members * PLAN.rounds
    for cut in (0, 1, 4, 7, 30):
        out = tmp_path / str(cut)
        first, second = MadeUp(fail_after=cut), MadeUp()
        with pytest.raises(OSError, match="the driver is gone"):
            train(Population(PLAN, out), first)
        train(Population(PLAN, out, resume=True), second)
        assert left_behind(out) == expected
        assert len(first.trained) + len(second.trained) == total


def test_the_audit_tells_who_copied_whom_and_the_next_round_obeys(tmp_path):
    population = Population(PLAN, tmp_path)
    train(population, MadeUp())
    audit = population.audit.read()
    assert len(audit) == PLAN.members * (PLAN.rounds - 1)
    copied = {(line["round"], line["member"]): line["other"] for line in audit if line["copied"]}
    # A made-up member remembers whose round it was: the story of each is the one of the audit.
    story = {member: [] for member in range(PLAN.members)}
    for number in range(PLAN.rounds):
        before = dict(story)
        for member in range(PLAN.members):
            donor = copied.get((number - 1, member), member)
            story[member] = [*before[donor], [PLAN.member(member).seed, number]]
    for member in range(PLAN.members):
        arrays = np.load(tmp_path / "members" / str(member) / f"round-{PLAN.rounds - 1}.npz")
        assert json.loads(arrays["state"].tobytes()) == story[member]
    rows = population.summary()
    assert sum(row["copies"] for row in rows) == len(copied) > 0


def test_more_rounds_may_be_asked_for_later(tmp_path):
    train(Population(PLAN, tmp_path / "whole"), MadeUp())
    short = dataclasses.replace(PLAN, rounds=2)
    train(Population(short, tmp_path / "grown"), MadeUp())
    assert not Records(tmp_path / "grown" / "audit.jsonl").read()[PLAN.members :]
    train(Population(PLAN, tmp_path / "grown", resume=True), MadeUp())
    assert left_behind(tmp_path / "grown") == left_behind(tmp_path / "whole")


def test_several_populations_train_side_by_side_and_one_that_fails_stops_alone(tmp_path):
    class Failing(MadeUp):
        def carry_out(self, jobs):
            for update in super().carry_out(jobs):
                bad = update.job.runs == (0, 1) and update.job.settings[0].number == 1
                yield update._replace(records=None, error="no") if bad else update

    two = [Population(PLAN, tmp_path / name) for name in "ab"]
    news = list(carry_out(two, Failing()))
    assert [one.job.runs for one in news if one.error] == [(0, 1)]
    assert two[0].done() == [2, 1, 2, 2]
    assert two[1].done() == [PLAN.rounds] * PLAN.members
    train(two[0], MadeUp())
    assert left_behind(tmp_path / "a") == left_behind(tmp_path / "b")


@pytest.mark.slow
def test_processes_train_what_the_engine_is_given(tmp_path):
    plan = dataclasses.replace(PLAN, members=2, rounds=2)
    train(Population(plan, tmp_path / "here"), MadeUp())
    train(Population(plan, tmp_path / "there"), LocalEngine(1, work=made_up_work))
    assert left_behind(tmp_path / "there") == left_behind(tmp_path / "here")


def test_a_folder_belongs_to_one_population(tmp_path):
    population = Population(PLAN, tmp_path / "a")
    with pytest.raises(ValueError, match="which holds a population: --resume goes on with it"):
        Population(PLAN, tmp_path / "a")
    with pytest.raises(ValueError, match=r"window is 20, but the population in .* has 30"):
        Population(dataclasses.replace(PLAN, window=20), tmp_path / "a", resume=True)
    with pytest.raises(ValueError, match="there is no population to resume"):
        Population(PLAN, tmp_path / "b", resume=True)
    (tmp_path / "b" / "thesis.tex").write_text("")
    with pytest.raises(ValueError, match=r"has 'thesis.tex' in it and no population.json"):
        Population(PLAN, tmp_path / "b")
    news = carry_out([population], MadeUp())
    next(news)
    with pytest.raises(ValueError, match="in which a population is running"):
        next(carry_out([population], MadeUp()))
    news.close()
    path = tmp_path / "a" / "members" / "0" / "round-0.npz"
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(ValueError, match=r"round-0.npz is damaged .* delete it"):
        train(population, MadeUp())
    path.unlink()
    train(population, MadeUp())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"members": 0}, "members is 0: it must be at least 1"),
        ({"window": 50}, "window is 50: it must be 2 to 40"),
        ({"p": 1.5}, "p is 1.5: it must be 0 to 1"),
        ({"optimiser_state": "lost"}, "optimiser_state is 'lost'"),
        ({"config": dataclasses.replace(PLAN.config, task="CartPole-v1")}, "one of the three"),
        ({"config": dataclasses.replace(PLAN.config, seed=-1)}, "seed is -1"),
        (
            {"config": dataclasses.replace(PLAN.config, hyper=PLAN.config.hyper | {"discount": 2})},
            "discount is 2: it must be 0 to 1",
        ),
    ],
)
def test_impossible_plans_are_named_before_any_work(tmp_path, change, message, unchecked_types):
    with pytest.raises(ValueError, match=message):
        Population(dataclasses.replace(PLAN, **change), tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_members_are_drawn_around_the_common_settings():
    plan = Members(config=configure("t_maze", {}, AgentFields(seed=3)), members=200)
    assert plan.member(0) == plan.config
    drawn = [plan.member(i) for i in range(1, 200)]
    assert drawn[6] == dataclasses.replace(plan, members=9).member(7)
    assert len({one.seed for one in drawn}) == 199
    for name, value in plan.config.hyper.items():
        if name in SPREAD:
            # Evenly in the logarithm, over the whole range.
            places = np.log([one.hyper[name] / value for one in drawn])
            limit = np.log(SPREAD[name])
            assert abs(places).max() == pytest.approx(limit, rel=0.05)
            assert abs(places.mean()) < 0.15 * limit
            assert places.std() == pytest.approx(limit / np.sqrt(3), rel=0.1)
        else:
            assert {one.hyper[name] for one in drawn} == {value}


# Real rounds from here on, of the smallest network there is.


class Here:
    """Trains real rounds in this process, which has the program already."""

    def carry_out(self, jobs):
        for job in jobs:
            yield Update(job, 1.0, [], records=train_round(job.settings, quiet))


def quiet(*_):
    pass


def a_round(config, number=0, state=None, donor=None):
    return train_round((Round(config.text(), number, 5, 5, state, donor),), quiet)[0]


def tree(state):
    """What these bytes hold."""
    fresh = CONFIG.trainer().init(jax.random.key(0))
    return from_bytes(state, to_save(fresh, Progress()), None)


def training(state):
    return tree(state)["training"]


def weights(state):
    """Everything of a state that is copied, as one vector."""
    one = training(state)
    leaves = jax.tree.leaves((one.weights.network, one.weights.learned))
    return np.concatenate([np.ravel(leaf) for leaf in leaves])


def optimised(state):
    """Everything that the optimiser moves: not a slow writer, which follows by itself."""
    one = training(state).weights
    reader = eqx.filter(one.network, one.network.writing(), inverse=True)
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves((reader, one.learned))])


def of(config, state):
    """The same state, of a member with other hyper-parameters."""
    return to_bytes(tree(state), config.about())


def other(**hyper):
    """A member beside CONFIG's, with its own seed and hyper-parameters."""
    return dataclasses.replace(CONFIG, seed=8, hyper=CONFIG.hyper | hyper)


@pytest.fixture(scope="module")
def two():
    """Two members after a round: one that is to copy (and does not learn), and its donor."""
    return a_round(other(learning_rate=0.0))["state"], a_round(CONFIG)["state"]


@pytest.mark.slow
def test_a_population_of_one_is_a_run(tmp_path):
    plan = Members(config=CONFIG, members=1, rounds=2, episodes=6, window=3)
    population = Population(plan, tmp_path / "population")
    train(population, Here())
    member = population.folder(0)
    lines = curve(member)
    Run(CONFIG, tmp_path / "run").train(lines[-1]["steps"])
    without = [
        [{name: value for name, value in line.items() if name != "seconds"} for line in one]
        for one in (lines, curve(tmp_path / "run"))
    ]
    assert without[0] == without[1]
    begin = Records(member / "records.jsonl").read()[0]
    assert begin["event"] == "begin"
    assert begin["commit"]
    # The folder is a run's: its network can be loaded, and is that of the run.
    assert Config.load(member) == CONFIG
    mine, theirs = (load_network(path)[1] for path in (member, tmp_path / "run"))
    for one, another in zip(*map(jax.tree.leaves, (mine, theirs)), strict=True):
        np.testing.assert_array_equal(one, another)


@pytest.mark.slow
def test_copied_weights_are_used_and_the_members_own_learning_rate_holds(two):
    """A member that does not learn ends the next round with exactly the weights that it copied."""
    copier, donor = two
    still = other(learning_rate=0.0)
    after = a_round(still, 1, copier, donor)
    np.testing.assert_array_equal(optimised(after["state"]), optimised(donor))
    # They played, too: what the same member earns with its own weights is something else.
    alone = a_round(still, 1, copier)
    np.testing.assert_array_equal(optimised(alone["state"]), optimised(copier))
    assert np.any(optimised(copier) != optimised(donor))
    entropies = [
        [line["entropy"] for line in one["records"] if "entropy" in line] for one in (after, alone)
    ]
    assert entropies[0] != entropies[1]


@pytest.mark.slow
def test_the_members_own_hyper_parameters_hold_after_a_copy(two):
    """From equal weights, donor's hyper-parameters and other ones lead to other places."""
    copier, donor = two
    ends = {
        name: weights(a_round(config, 1, of(config, copier), donor)["state"])
        for name, config in {
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
        after = copied(copier, donor, CONFIG.settings, kind)
        for mine, theirs in (
            (after.weights.network, donor.weights.network),
            (after.weights.learned, donor.weights.learned),
            (after.older, donor.older),
            (after.actors.env, copier.actors.env),
            (after.actors.frame, copier.actors.frame),
        ):
            for one, another in zip(*map(jax.tree.leaves, (mine, theirs)), strict=True):
                np.testing.assert_array_equal(one, another)
        assert (after.key == copier.key).all()
        assert after.updates == copier.updates
        # Memories begin anew, and what is under way is not counted.
        assert all(not np.any(leaf) for leaf in jax.tree.leaves(after.actors.memory))
        assert after.actors.start.all()
        assert not after.actors.whole.any()
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
    assert one["scores"] == again["scores"]
    assert len(one["scores"]) == 5
    np.testing.assert_array_equal(weights(one["state"]), weights(again["state"]))
    last = one["records"][-1]
    assert (last["event"], last["round"]) == ("round", 1)
    assert last["mean"] == pytest.approx(np.mean(one["scores"]))
    # At least five episodes more, and none more than the last call made.
    episodes = [line["episodes"] for line in one["records"] if "event" not in line]
    before = int(tree(copier)["episodes"])
    assert episodes[-1] - before >= 5
    assert all(count - before < 5 for count in episodes[:-1])


@pytest.mark.slow
def test_a_member_that_diverges_ends_where_it_began_and_takes_whatever_it_samples(two):
    copier, donor = two
    wild = other(learning_rate=1e30)
    after = a_round(wild, 1, of(wild, copier), donor)
    assert after["scores"] == []
    assert [line["event"] for line in after["records"]] == ["diverged", "round"]
    assert after["records"][-1]["mean"] is None
    np.testing.assert_array_equal(weights(after["state"]), weights(donor))
