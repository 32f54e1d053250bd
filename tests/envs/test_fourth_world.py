"""A fourth world is one file and one line: everything else reads the registry."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from PIL import Image

import longpass.envs.gym
from longpass import envs
from longpass.envs import film
from tests.envs.fourth_world import CorridorParams

ENTRY = (
    "corridor",
    "tests.envs.fourth_world:Corridor",
    "tests.envs.fourth_world:CorridorParams",
)
ROOT = Path(__file__).parents[2]
KEY = jax.random.key(0)


@pytest.fixture(scope="module", autouse=True)
def _registered():
    """The world is there for these tests only."""
    envs.register(*ENTRY)
    longpass.envs.gym.register()
    yield
    world = envs.WORLDS.pop("corridor")
    del gymnasium.registry[world.gym_id]


def test_make():
    env, params = envs.make("corridor", length=9)
    assert "corridor" in envs.names()
    assert (env.name, params) == ("corridor", CorridorParams(length=9))
    with pytest.raises(ValueError, match="length is 0: it must be 1 to 100"):
        envs.make("corridor", length=0)


def test_a_perfect_episode_earns_the_maximum():
    env, params = envs.make("corridor")
    for exit_ in (0, 1):
        actions = env.perfect_actions(params, exit_)
        episode = envs.play_episode(env, params, exit_, actions)
        assert episode.rewards.sum() == env.max_score(params)
        assert np.flatnonzero(episode.over).tolist() == [env.episode_length(params)]


def test_film(tmp_path):
    env, params = envs.make("corridor", length=4)
    hidden = env.draw(KEY, params)
    episode = envs.play_episode(env, params, hidden, env.perfect_actions(params, hidden))
    film.write_film(tmp_path / "a.gif", env, params, film.cut_after_end(episode), fps=10.0)
    with Image.open(tmp_path / "a.gif") as picture:
        middle = picture.convert("RGB").getpixel((7, 14 + 7))
    assert middle == env.colours["P"]


def test_gymnasium():
    make: Any = gymnasium.make
    check_env(make("longpass/Corridor-v0", render_mode="rgb_array").unwrapped)
    copies: Any = gymnasium.make_vec("longpass/Corridor-v0", num_envs=3, length=2)
    copies.reset(seed=0)
    assert not copies.step(np.full(3, 4))[2].any()
    assert copies.step(np.full(3, 4))[2].all()


def test_no_original_to_replay(tmp_path):
    np.savez(tmp_path / "a.npz", game=np.array("corridor"))
    result = envs.replay_episode(tmp_path / "a.npz")
    assert "game is 'corridor': it must be one of cued_catch, t_maze, sequence_rec" in result.detail


@pytest.mark.parametrize("command", ["play", "film", "train", "pbt"])
def test_the_command_line(command):
    code = (
        f"from longpass import envs; envs.register(*{ENTRY}); from longpass import cli; cli.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, command, "corridor", "--help"],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    assert "Remember the exit that is named at the start" in done.stdout
    assert "--length INT" in done.stdout
    assert "Steps from the start to the exits. (default: 6)" in done.stdout


def test_it_can_be_trained():
    from longpass.agents import make_trainer, resolve_settings

    _, params = envs.make("corridor", length=5)
    run = resolve_settings("corridor", params)
    assert (run.env, run.params.length, run.is_gymnasium) == ("corridor", 5, False)
    assert run.from_json(run.to_json()) == run
    assert make_trainer(run).state_shapes().updates.shape == ()
