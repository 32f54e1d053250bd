"""The worlds as Gymnasium environments."""

from typing import Any

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import longpass.envs.gym
from longpass.envs import WORLDS, CuedCatch

IDS = ("longpass/CuedCatch-v0", "longpass/TMaze-v0", "longpass/SequenceRecall-v0")
# Gymnasium types what an environment returns more loosely than ours is.
make: Any = gymnasium.make
make_vec: Any = gymnasium.make_vec
SHORT: dict[str, dict[str, Any]] = {
    IDS[0]: {"initial_cue_duration": 1, "num_trials": 2},
    IDS[1]: {"timeout_frames": 12},
    IDS[2]: {"timeout_frames": 12},
}


def test_every_world_has_an_id():
    assert set(IDS) <= {world.gym_id for world in WORLDS.values()} <= set(gymnasium.registry)


@pytest.mark.parametrize("name", IDS)
def test_passes_the_checker(name):
    check_env(make(name, render_mode="rgb_array").unwrapped)


@pytest.mark.parametrize("name", IDS)
def test_episodes_end_and_repeat_by_seed(name):
    env = make(name, **SHORT[name])
    runs = []
    for _ in range(2):
        first, _ = env.reset(seed=3)
        frames, over = [first], False
        while not over:
            frame, reward, terminated, truncated, _ = env.step(len(frames) % 5)
            over = terminated or truncated
            frames.append(frame)
            assert isinstance(reward, float)
        runs.append(np.stack(frames))
    np.testing.assert_array_equal(*runs)
    assert len(runs[0]) - 1 == (17 if name == IDS[0] else 12)


def test_a_module_name_in_the_id_is_enough():
    env = make("longpass.envs.gym:longpass/TMaze-v0", level=0)
    assert env.observation_space.shape == (7, 11, 5)


def test_hidden_draws_by_hand():
    env = make(IDS[0], initial_cue_duration=1, num_trials=3, reward_free_trials=0)
    world, params = CuedCatch(), env.unwrapped._params
    _, state = world.reset(jax.random.key(5), params)
    env.reset(seed=0, options={"hidden": state.hidden})
    steps = [env.step(action) for action in world.perfect_actions(params, state.hidden)]
    assert sum(reward for _, reward, *_ in steps) == 3.0
    assert steps[-1][2]


@pytest.mark.parametrize("name", IDS)
def test_vector_version_starts_anew_in_the_same_step(name):
    envs = make_vec(name, num_envs=3, **SHORT[name])
    assert envs.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    first, _ = envs.reset(seed=1)
    assert first.shape == envs.observation_space.shape
    length = 17 if name == IDS[0] else 12
    frames, infos = first, {}
    for step in range(1, length + 1):
        frames, rewards, terminated, truncated, infos = envs.step(np.full(3, 4))
        assert rewards.shape == (3,)
        assert not truncated.any()
        assert terminated.all() == (step == length)
        assert ("final_obs" in infos) == (step == length)
    assert infos["_final_obs"].all()
    last = np.stack(infos["final_obs"])
    assert (last.sum(-1) == 1).all()
    if name == IDS[0]:  # the last frame has balls at the right edge, the first has none
        assert last[:, 1, 8, 3].all()
        assert not frames[..., 3].any()
    assert envs.step(np.full(3, 4))[2].sum() == 0


@pytest.mark.parametrize("actions", [np.array([0, 5]), np.array([0, -1])])
def test_actions_outside_the_space(actions):
    envs = make_vec(IDS[1], num_envs=2)
    envs.reset(seed=0)
    with pytest.raises(ValueError, match=r"action is (5|-1): it must be 0 to 4"):
        envs.step(actions)
    env = make(IDS[1]).unwrapped
    env.reset(seed=0)
    with pytest.raises(ValueError, match="action is 5"):
        env.step(5)


def test_bad_settings():
    with pytest.raises(ValueError, match="limbo_time is 1"):
        make(IDS[1], limbo_time=1)
    envs = make_vec(IDS[1], num_envs=2)
    envs.reset(seed=0)
    with pytest.raises(ValueError, match="actions has shape"):
        envs.step(np.zeros(3, int))
    with pytest.raises(ValueError, match="render_mode"):
        longpass.envs.gym.SingleWorld("t-maze", render_mode="human")
    with pytest.raises(ValueError, match="name is 'TMaze': it must be one of 'cued-catch'"):
        longpass.envs.gym.SingleWorld("TMaze")
    with pytest.raises(TypeError, match="'speed' is not a parameter of t-maze"):
        make(IDS[1], speed=3)


def test_rendering():
    env = make(IDS[1], render_mode="ansi")
    env.reset(seed=0)
    assert env.render().splitlines()[3] == "   # P #   "
    envs = make_vec(IDS[2], num_envs=2, render_mode="rgb_array")
    envs.reset(seed=0)
    assert [picture.shape for picture in envs.render()] == [(17 * 16, 21 * 16, 3)] * 2
