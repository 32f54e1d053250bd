"""The registry of worlds, and parameters of worlds as settings and as pytrees."""

import dataclasses
import json
import pickle
import subprocess
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from longpass import envs
from longpass.envs import CuedCatchParams, SequenceRecallParams, TMazeParams

KEY = jax.random.key(0)
every_world = pytest.mark.parametrize("name", envs.names())


def test_the_three_worlds_of_the_paper():
    assert envs.names()[:3] == ("cued-catch", "t-maze", "sequence-recall")


@every_world
def test_a_name_is_the_same_everywhere(name):
    env, params = envs.make(name)
    assert envs.WORLDS[name].name == env.name == name
    assert type(params) is envs.WORLDS[name].load_params()
    assert params == env.default_params
    assert set(env.colours) == set(env.planes)


def test_make_sets_parameters():
    env, params = envs.make("t-maze", limbo_time=50)
    assert env == envs.TMaze()
    assert params == TMazeParams(limbo_time=50)


def test_make_refuses_what_it_does_not_know():
    with pytest.raises(ValueError, match="name is 't_maze': it must be one of 'cued-catch', 't-m"):
        envs.make("t_maze")
    with pytest.raises(TypeError, match="'speed' is not a parameter of t-maze: it must be one of"):
        envs.make("t-maze", speed=1)
    with pytest.raises(ValueError, match="limbo_time is 2: it must be 0"):
        envs.make("t-maze", limbo_time=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("My_World", "a:B", "a:C"), "name is 'My_World': it must be lower-case words"),
        (("my-world", "a.B", "a:C"), "environment is 'a.B': it must be 'module:Class'"),
        (("my-world", "a:B", "C"), "params is 'C': it must be 'module:Class'"),
        (("t-maze", "a:B", "a:C"), "name is 't-maze': it must not be the name of another world"),
    ],
)
def test_register_refuses(arguments, message):
    before = dict(envs.WORLDS)
    with pytest.raises(ValueError, match=message):
        envs.register(*arguments)
    assert before == envs.WORLDS


@every_world
def test_a_perfect_episode_earns_the_maximum(name):
    env, params = envs.make(name)
    hidden = env.draw(KEY, params)
    actions = env.perfect_actions(params, hidden)
    episode = envs.play_episode(env, params, hidden, actions)
    np.testing.assert_array_equal(np.flatnonzero(episode.over), [len(actions)])
    assert episode.rewards.sum() == pytest.approx(env.max_score(params, hidden), abs=1e-4)
    assert env.episode_length(params) == pytest.approx(len(actions), rel=0.25)
    assert 0 < env.memory_span(params) <= env.episode_length(params)


def test_lengths_and_spans_of_the_paper():
    lengths = [env.episode_length(params) for env, params in map(envs.make, envs.names()[:3])]
    spans = [env.memory_span(params) for env, params in map(envs.make, envs.names()[:3])]
    assert lengths == [740, 480, 420]
    assert spans == [740, 390, 361]
    env, params = envs.make("cued-catch", initial_cue_duration=2, num_trials=5)
    assert (env.episode_length(params), env.memory_span(params)) == (43, 43)
    env, params = envs.make("t-maze", teleport_delay=9, limbo_time=0)
    assert (env.episode_length(params), env.memory_span(params)) == (159, 69)
    env, params = envs.make("sequence-recall", sequence_length=2, pause_frames=7)
    assert (env.episode_length(params), env.memory_span(params)) == (240, 187)


@every_world
def test_parameters_are_settings(name):
    """Plain values can be compared, hashed, pickled and written as JSON; fields are frozen."""
    _, params = envs.make(name)
    field = dataclasses.fields(params)[0].name
    other = dataclasses.replace(params, **{field: 3})
    assert params == type(params)()
    assert params != other
    assert len({params, type(params)(), other}) == 2
    assert pickle.loads(pickle.dumps(other)) == other
    assert type(params)(**json.loads(json.dumps(dataclasses.asdict(other)))) == other
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(params, field, 3)


def test_parameters_are_pytrees():
    """Static fields are part of the structure, others leaves, in the order of their fields."""
    params = CuedCatchParams(1, 2, 3, True, 0.5, 6)
    leaves, structure = jax.tree_util.tree_flatten_with_path(params)
    assert [(jax.tree_util.keystr(path), leaf) for path, leaf in leaves] == [
        (".initial_cue_duration", 1),
        (".cue_duration", 2),
        (".always_show_ball_symbol", True),
        (".reward_free_trials", 6),
    ]
    assert jax.tree.unflatten(structure, [1, 2, True, 6]) == params
    assert jax.tree.structure(params) != jax.tree.structure(CuedCatchParams(1, 2, 4, True, 0.5, 6))
    assert len(jax.tree.leaves(SequenceRecallParams())) == 5
    # What JAX puts in on the way is not checked.
    assert jax.tree.map(lambda _: "anything", params).cue_duration == "anything"


def test_parameters_hold_arrays_and_traced_values():
    @jax.jit
    def limbo(params):
        return dataclasses.replace(params, limbo_time=params.limbo_time + 3).limbo_time

    assert limbo(TMazeParams(limbo_time=4)) == 7
    sweep = TMazeParams(limbo_time=jnp.array([0, 5]))
    mapped = eqx.filter_vmap(lambda params: params.limbo_time + params.level)(sweep)
    np.testing.assert_array_equal(mapped, [4, 9])
    with pytest.raises(ValueError, match="limbo_time is 2"):
        TMazeParams(limbo_time=jnp.array([0, 2]))


def test_the_registry_and_parameters_do_not_load_jax():
    code = """
import sys
from longpass.envs import WORLDS, CuedCatchParams, DelayedCueParams, make, names
params = [world.load_params()() for world in WORLDS.values()]
assert params[0] == CuedCatchParams() and params[-1] == DelayedCueParams()
assert not {"jax", "equinox"} & set(sys.modules)
make(names()[0])
assert "jax" in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
