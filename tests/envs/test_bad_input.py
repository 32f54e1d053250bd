"""Bad input is refused with a message that names the setting, its value and what is right."""

from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from longpass.envs import (
    AutoReset,
    CuedCatch,
    CuedCatchHidden,
    CuedCatchParams,
    Discrete,
    GivenSpeckle,
    SequenceRecall,
    SequenceRecallHidden,
    SequenceRecallParams,
    TMaze,
    TMazeHidden,
    TMazeParams,
    make,
    names,
    play_episode,
)

KEY = jax.random.key(0)


@pytest.mark.parametrize(
    ("record", "setting", "value"),
    [
        (CuedCatchParams, "initial_cue_duration", 0),
        (CuedCatchParams, "cue_duration", -1),
        (CuedCatchParams, "num_trials", -1),
        (CuedCatchParams, "reward_sigma", -0.5),
        (CuedCatchParams, "reward_sigma", float("nan")),
        (CuedCatchParams, "reward_free_trials", -1),
        (TMazeParams, "level", 6),
        (TMazeParams, "level", -1),
        (TMazeParams, "limbo_time", 1),
        (TMazeParams, "limbo_time", 2),
        (TMazeParams, "limbo_time", np.array([0, 2])),
        (TMazeParams, "limbo_time", -3),
        (TMazeParams, "teleport_delay", -1),
        (TMazeParams, "timeout_frames", 10**10),
        (SequenceRecallParams, "sequence_length", 0),
        (SequenceRecallParams, "demo_light_on_frames", -1),
        (SequenceRecallParams, "pause_frames", jnp.array([3, -1])),
    ],
)
def test_numbers_out_of_range(record, setting, value):
    with pytest.raises(ValueError, match=rf"{setting} is .*: it must be "):
        record(**{setting: value})


@pytest.mark.parametrize(
    ("record", "setting", "value"),
    [
        (CuedCatchParams, "num_trials", 2.5),
        (CuedCatchParams, "always_show_ball_symbol", 1),
        (CuedCatchParams, "reward_sigma", "much"),
        (TMazeParams, "level", "hard"),
        (TMazeParams, "level", np.array([0.5])),
        (TMazeParams, "cue_after_teleport", None),
        (SequenceRecallParams, "timeout_frames", True),
    ],
)
def test_values_of_the_wrong_kind(record, setting, value):
    with pytest.raises(TypeError, match=rf"{setting} is .*: it must be "):
        record(**{setting: value})


@pytest.mark.parametrize("name", names())
def test_actions_outside_the_space(name, unchecked_types):
    env, _ = make(name)
    _, state = env.reset(KEY)
    for stepper in (env, AutoReset(env)):
        wrong: list[Any] = [-1, 5, np.int64(7), jnp.int32(9)]
        for action in wrong:
            with pytest.raises(ValueError, match=r"action is -?\d+: it must be 0 to 4"):
                stepper.step(KEY, state, action)
        with pytest.raises(TypeError, match="action is"):
            stepper.step(KEY, state, cast(Any, 0.5))
    with pytest.raises(ValueError, match="action is 5"):
        play_episode(env, env.default_params, state.hidden, [0, 5])


@pytest.mark.parametrize("name", names())
def test_in_compiled_code_they_count_as_staying(name):
    env, _ = make(name)
    _, state = env.reset(KEY)
    step = jax.jit(lambda action: env.step(KEY, state, action)[1])
    for action in (-1, 5, 99):
        jax.tree.map(np.testing.assert_array_equal, step(action), step(4))


def test_hidden_draws(unchecked_types):
    with pytest.raises(ValueError, match=r"cue_sequence has shape \(3,\): it must be \(101,\)"):
        CuedCatch().reset(KEY, hidden=CuedCatchHidden(jnp.zeros(4, int), jnp.zeros(3, int)))
    with pytest.raises(ValueError, match="cues_to_balls is 7"):
        CuedCatch().reset(KEY, hidden=CuedCatchHidden(jnp.full(4, 7), jnp.zeros(101, int)))
    with pytest.raises(ValueError, match="cues_to_balls has shape"):
        CuedCatch().reset(KEY, hidden=CuedCatchHidden(jnp.zeros(5, int), jnp.zeros(101, int)))
    with pytest.raises(ValueError, match="sequence has shape"):
        SequenceRecall().reset(KEY, hidden=SequenceRecallHidden(jnp.ones(3, int)))
    with pytest.raises(ValueError, match="sequence is 5: it must be 1 to 4"):
        SequenceRecall().reset(KEY, hidden=SequenceRecallHidden(jnp.full(4, 5)))
    with pytest.raises(ValueError, match=r"speckle has shape \(2, 2\)"):
        GivenSpeckle.of(np.ones((2, 2)))
    given = GivenSpeckle.of(np.ones((77, 191)))
    with pytest.raises(ValueError, match="which_goal is 2"):
        TMaze().reset(KEY, hidden=TMazeHidden(jnp.int8(2), given))
    with pytest.raises(TypeError, match="speckle is ndarray"):
        TMaze().reset(KEY, hidden=TMazeHidden(jnp.int8(1), cast(Any, np.ones((77, 191)))))


def test_a_given_speckle_cannot_start_the_next_episode():
    env = TMaze()
    given = TMazeHidden(jnp.int8(1), GivenSpeckle.of(np.ones((77, 191), bool)))
    _, state = env.reset(KEY, hidden=given)
    with pytest.raises(ValueError, match="step it without AutoReset"):
        AutoReset(env).step(KEY, state, 0)


def test_spaces():
    space = Discrete(5)
    assert space.contains(space.sample(KEY))
    assert not space.contains(5)
    assert not space.contains(1.0)
    box = TMaze().observation_space()
    assert box.shape == (7, 11, 5)
    assert box.contains(np.asarray(box.sample(KEY)))
    assert not box.contains(np.full(box.shape, 2, np.uint8))
