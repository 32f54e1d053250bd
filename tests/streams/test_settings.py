"""Settings are checked and completed, and need no JAX."""

import dataclasses
import subprocess
import sys

import pytest

from longpass._fields import from_json, to_json
from longpass.streams import FixedPlan, StreamSettings


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"truncation": 0}, "truncation is 0: it must be 1 to 100000"),
        ({"batch_size": -3}, "batch_size is -3"),
        ({"symbols": 63}, "symbols is 63: it must be at least 64, one minibatch of 32 streams"),
        ({"symbols": 1e6 + 0.5}, "symbols is 1000000.5: it must be a whole number"),
        ({"pool_size": 0}, "pool_size is 0"),
        ({"num_pools": 0}, "num_pools is 0"),
        ({"base": 1.0}, "base is 1.0: it must be finite and above 1"),
        ({"learning_rate": 0.0}, "learning_rate is 0.0"),
        ({"epsilon": float("nan")}, "epsilon is nan"),
        ({"memory": "lstm", "num_pools": 3}, "num_pools is 3: it must be left out for lstm"),
        ({"memory": "gru", "normalise": "layer"}, "normalise is 'layer': it must be left out"),
        ({"memory": "chain", "state_size": 3}, "state_size is 3: it must be left out for chain"),
        ({"normalise": "batch"}, "normalise is 'batch'"),
        ({"memory": float("nan")}, "memory is nan: it must be one of"),
        ({"memory": "transformer"}, "memory is 'transformer': it must be one of"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 2**32}, "seed is 4294967296"),
        ({"words_seed": 1}, "only the task subsequences has words"),
        ({"task": "subsequences", "words_seed": -1}, "words_seed is -1"),
    ],
)
def test_settings_that_are_not_possible_are_refused(wrong, message, unchecked_types):
    with pytest.raises((ValueError, TypeError), match=message):
        StreamSettings(**wrong).resolved()


def test_defaults_are_filled_in_where_the_memory_has_the_setting():
    chain = StreamSettings().resolved()
    assert (chain.pool_size, chain.num_pools, chain.viewport_size, chain.base) == (24, 12, 16, 1.5)
    assert chain.state_size is None
    lstm = StreamSettings(memory="lstm").resolved()
    assert lstm.state_size == 32
    assert lstm.pool_size is lstm.num_pools is lstm.viewport_size is lstm.base is None
    assert chain.symbols == 40_000_000
    assert StreamSettings(task="subsequences").resolved().symbols == 100_000_000
    for settings in (chain, lstm):
        assert settings.resolved() == settings
        assert from_json(StreamSettings, to_json(settings)) == settings


def test_the_learning_rate_depends_on_memory_and_minibatch_unless_it_is_given():
    rates = {"chain": (3e-4, 1e-3, 1e-3), "parallel": (3e-4, 1e-3, 1e-3), "lstm": (5e-4,) * 3}
    for memory, expected in rates.items():
        for truncation, rate in zip((2, 16, 128), expected, strict=True):
            settings = StreamSettings(memory=memory, truncation=truncation)
            assert settings.resolved().learning_rate == rate
            given = dataclasses.replace(settings, learning_rate=1e-6)
            assert given.resolved().learning_rate == 1e-6
    small = StreamSettings(memory="parallel", truncation=4, batch_size=4)
    assert small.resolved().learning_rate == 1.1e-4
    assert dataclasses.replace(small, pool_size=8).resolved().pool_size == 8


def test_a_plan_with_fixed_settings_has_the_defaults():
    plan = FixedPlan("a", "two-markers", ("lstm", "parallel"), (2, 128), seeds=2, symbols=10**6)
    for i in range(len(plan)):
        run = plan.settings(i)
        plain = StreamSettings(memory=run.memory, truncation=run.truncation, symbols=10**6)
        assert run == dataclasses.replace(plain, seed=run.seed).resolved()


def test_settings_and_plans_need_no_jax():
    script = (
        "import sys; from longpass.streams import FixedPlan, StreamSettings, Sweep, "
        "SweepPlan, sweep_preset, estimate_seconds, train_group; StreamSettings().resolved(); "
        "SweepPlan().check(); sys.exit('jax' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0


def test_runs_of_a_group_may_differ_in_four_settings_only():
    one = StreamSettings().resolved()
    for other in (
        {"seed": 1},
        {"learning_rate": 1e-4},
        {"epsilon": 1e-3},
        {"base": 3.0},
    ):
        assert dataclasses.replace(one, **other).group_key == one.group_key
    for other in ({"hidden_size": 2}, {"truncation": 4}, {"clear_state": True}, {"memory": "gru"}):
        assert dataclasses.replace(one, **other).group_key != one.group_key
