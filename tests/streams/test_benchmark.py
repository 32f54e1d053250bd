"""The benchmark: equal sizes, equal settings, scores from records, and its tasks."""

import dataclasses
import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from longpass import theory
from longpass._fields import to_json
from longpass._options import Options
from longpass.memory import LSTM, Concrete, PoolBank, PoolChain, mean_lag, measure_lags, rates
from longpass.records import RECORDS, Records
from longpass.streams import (
    BENCHMARKED,
    BenchmarkPlan,
    StreamSettings,
    benchmark_preset,
    check_parameters,
    make_task,
    read_benchmark,
    read_results,
    score_memories,
    train_and_measure,
)
from longpass.streams._benchmark_scores import average_over_log
from tests.helpers import count_shapes, run

SMALL = dataclasses.replace(
    benchmark_preset("quick"), memories=("chain", "lstm"), truncations=(2, 8), runs=3
)


@pytest.mark.slow
def test_all_memories_have_about_as_many_parameters():
    plan = BenchmarkPlan(truncations=(2,), runs=1)
    plan.check()
    check_parameters(plan)
    options = Options.of({"hidden_size": 8})
    small = dataclasses.replace(plan, memories=("memax:GRU",), memory_options=options)
    with pytest.raises(ValueError, match=r"memax:GRU', whose network has \d+ parameters: it must"):
        check_parameters(small)


def test_runs_of_a_cell_are_trained_together_and_draws_are_shared():
    groups = SMALL.groups()
    assert sorted(i for group in groups for i in group) == list(range(len(SMALL)))
    for group in groups:
        settings = [SMALL.settings(i) for i in group]
        assert len({one.group_key for one in settings}) == 1
        assert len({one.learning_rate for one in settings}) == SMALL.runs
    drawn = [[SMALL.settings(i).learning_rate for i in group] for group in groups]
    assert all(rates == drawn[0] for rates in drawn)
    more = dataclasses.replace(SMALL, runs=5)
    assert all(more.settings(i) == SMALL.settings(i) for i in range(len(SMALL)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"memories": ("elman",)}, "memory is 'elman': it must be one of 'chain'"),
        ({"truncations": ()}, "truncations is"),
        ({"truncations": (0,)}, "truncation is 0"),
        ({"tasks": ("subsequences",)}, "span is 20: it must be left out"),
        ({"spans": (5,)}, "span is 5"),
        ({"spans": (20, 50)}, r"spans is \(20, 50\): it must have one span for each of the tasks"),
        ({"tasks": ("recall",) * 2, "spans": (20, 20)}, "each pair once"),
    ],
)
def test_bad_plans_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(SMALL, **changes).check()


def make_lines(plan, accuracy):
    """Records of a plan whose runs have the accuracy that a function of the place gives."""
    return [
        {
            "event": "result",
            "kind": "stream",
            "run": i,
            "settings": to_json(plan.settings(i)),
            "accuracy": accuracy(*plan.place(i), i),
            "diverged": None,
            "longer_accuracy": 0.5,
            "mean_lag": 5.0,
            "parameters": 4000,
        }
        for i in range(len(plan))
    ]


def test_scores_are_those_of_the_records(tmp_path, capsys):
    def accuracy(task, span, memory, truncation, i):
        return 1.0 if memory == "chain" or (truncation == 8 and i % 2) else 0.3

    (tmp_path / "one").mkdir()
    Records(tmp_path / "one" / RECORDS).append(make_lines(SMALL, accuracy))
    cells = read_benchmark(tmp_path)
    assert {(cell.memory, cell.truncation): cell.solved[0] for cell in cells}["chain", 2] == 1.0
    chain, lstm = score_memories(cells)
    assert (chain.memory, chain.area) == ("chain", (1.0, 1.0, 1.0))
    assert lstm.area[1] <= lstm.area[0] <= lstm.area[2] < 1.0
    assert lstm.longest == {2: 0, 8: 20}
    assert (chain.longer, chain.lag) == (0.5, 0.25)
    # The paper's results are not mixed with those of the benchmark.
    assert read_results(tmp_path).is_empty()
    code, out, _ = run(capsys, "benchmark", "--show", tmp_path, "--markdown")
    assert code == 0
    assert out.splitlines()[2].startswith("| chain | 4000 | 6 | 1.00 (1.00-1.00) | 20 20 |")
    code, out, _ = run(capsys, "figure", "benchmark", "--records", tmp_path, "--out", tmp_path)
    assert code == 0
    assert count_shapes(tmp_path / "benchmark.svg") >= 1


def test_the_area_is_over_the_logarithm():
    assert average_over_log([1, 2, 4], [0.0, 1.0, 1.0]) == pytest.approx(0.75)
    assert average_over_log([4], [0.3]) == 0.3


@pytest.mark.parametrize("name", ["recall", "previous", "two-markers", "three-markers"])
def test_labels_are_what_the_sequences_say(name):
    task = make_task(name, span=30)
    drawn = jax.jit(jax.vmap(task.sequence))(jax.random.split(jax.random.key(0), 300))
    symbols, lengths, labels = (np.asarray(leaf) for leaf in drawn)
    assert lengths.min() == 30
    assert lengths.max() == task.longest == 33
    names = np.array(task.alphabet)
    for one, length, label in zip(symbols, lengths, labels, strict=True):
        text = names[one[:length]]
        assert text[-1] == "B"
        if name == "recall":
            assert text[0] == task.classes[label]
            assert not set(text[1:]) & set("PQRS")
        elif name == "previous":
            assert text[length - 30] == task.classes[label]
        else:
            assert "".join(text[np.isin(text, ["X", "Y"])]) == task.classes[label]
    assert set(labels) == set(range(len(task.classes)))


_measure_lags = eqx.filter_jit(measure_lags)


@pytest.mark.parametrize(("kind", "wiring"), [(PoolChain, "chain"), (PoolBank, "parallel")])
def test_the_mean_lag_of_pools_is_that_of_theory(kind, wiring):
    a = rates(1.7, 4)
    memory = kind(3, a, dtype=jnp.float64)
    norms = _measure_lags(memory, jnp.ones((40, 3)))
    assert float(mean_lag(norms)) == pytest.approx(theory.mean_lag(a, wiring, 40), rel=1e-9)
    one = theory.mean_lag([0.2])
    assert one == pytest.approx(float(theory.mean_delay([0.2])[0]), rel=1e-6)


def test_lags_see_through_pools_that_pass_no_gradient():
    key = jax.random.key(0)
    xs = jnp.asarray(np.random.default_rng(0).standard_normal((60, 3)))
    sizes = {"num_pools": 6, "pool_size": 4, "viewport_size": 3, "dtype": jnp.float64, "key": key}
    one, all_pass = (Concrete(3, 5, gradient_pools=n, **sizes) for n in (1, 6))
    ours = _measure_lags(one, xs)
    np.testing.assert_allclose(ours, _measure_lags(all_pass, xs), rtol=1e-9)
    lstm = LSTM(3, 5, dtype=jnp.float64, key=key)
    assert float(mean_lag(_measure_lags(lstm, xs))) < float(mean_lag(ours))


@pytest.mark.slow
@pytest.mark.parametrize("memory", ["chain, layer", "S6 (memax)"])
def test_a_group_is_trained_and_measured(memory):
    plan = dataclasses.replace(SMALL, memories=(memory,), runs=2, symbols=2000)
    lines = train_and_measure([plan.settings(i) for i in plan.groups()[0]], lambda *_: None)
    assert len(lines) == 2
    for line in lines:
        assert 0 <= line["longer_accuracy"] <= 1
        assert 0 < line["mean_lag"] < 20
        assert line["settings"]["memory"] == BENCHMARKED[memory]["memory"]
        json.dumps(line)


def test_native_code_leaves_other_tasks_to_jax():
    from longpass.streams import choose_learner

    assert choose_learner(StreamSettings(memory="chain", span=50).resolved()) == "jax"
    assert choose_learner(StreamSettings(memory="chain", task="recall").resolved()) == "jax"
