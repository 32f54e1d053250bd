"""Gymnasium environments of every kind: what they show, which actions they take, how they fail."""

import json
from typing import Any

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium import spaces

from longpass.agents import GymCopies, make_trainer, resolve_settings
from tests.helpers import run

NAME = "longpass-tests/Made-v0"
BOX = spaces.Box(-1.0, 1.0, (2,), np.float32)


class Mission(spaces.Space):
    """A space of its own kind, as MiniGrid has one."""

    def sample(self, mask=None, probability=None):
        return "go"

    def contains(self, x):
        return isinstance(x, str)


OBSERVATIONS = {
    "box": (BOX, (2,)),
    "scalar": (spaces.Box(-1.0, 1.0, ()), (1,)),
    "image": (spaces.Box(0, 255, (4, 5, 3), np.uint8), (4, 5, 3)),
    "discrete": (spaces.Discrete(3, start=5), (3,)),
    "many": (spaces.MultiDiscrete([2, 3]), (5,)),
    "bits": (spaces.MultiBinary(4), (4,)),
    "pair": (spaces.Tuple((BOX, spaces.Discrete(3, start=-1))), (5,)),
    "parts": (spaces.Dict({"a": BOX, "b": spaces.Dict({"c": spaces.Discrete(2)})}), (4,)),
    "with text": (spaces.Dict({"a": BOX, "mission": spaces.Text(8)}), (2,)),
    "with words": (spaces.Dict({"a": BOX, "mission": Mission()}), (2,)),
}


class Made(gymnasium.Env):
    """Shows samples of a space, pays the action, and ends or fails as asked."""

    def __init__(self, seen="box", first=0, steps=4, fails=""):
        self.observation_space = OBSERVATIONS[seen][0] if seen in OBSERVATIONS else spaces.Text(3)
        self.action_space = spaces.Discrete(3, start=first)
        self.steps, self.fails, self.time = steps, fails, 0
        if fails == "make":
            raise RuntimeError("no licence")

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self.observation_space.seed(seed)
        if self.fails == "reset":
            raise RuntimeError("no display")
        self.time = 0
        return self.observation_space.sample(), {}

    def step(self, action):
        if self.fails == "step":
            raise ZeroDivisionError("in the physics")
        assert self.action_space.contains(action), f"{action} is no action"
        self.time += 1
        over = self.time == self.steps
        return self.observation_space.sample(), float(action), False, over, {}


@pytest.fixture(autouse=True)
def registered():
    gymnasium.register(NAME, f"{__name__}:Made", disable_env_checker=True)
    yield
    del gymnasium.registry[NAME]


@pytest.mark.parametrize("seen", OBSERVATIONS)
def test_every_observation_is_an_array(seen):
    shape = OBSERVATIONS[seen][1]
    copies = GymCopies(NAME, {"seen": seen}, 2)
    assert copies.frame_shape == shape
    frames = copies.reset(3)
    assert (frames.shape, frames.dtype) == ((2, *shape), np.float32)
    step = copies.step(np.array([0, 2]))
    for _ in range(4):
        step = copies.step(np.array([0, 2]))
        assert step.frames.shape == step.last_frames.shape == frames.shape
        # A truncated episode's last frame is not the first of the next.
        assert step.truncated.any() == (step.frames is not step.last_frames)
    if seen == "discrete":
        assert np.array_equal(np.sort(step.frames), [[0, 0, 1]] * 2)
    copies.close()


def test_actions_are_counted_from_the_first():
    copies = GymCopies(NAME, {"first": -7}, 2)
    assert copies.num_actions == 3
    copies.reset(0)
    assert copies.step(np.array([0, 2])).reward.tolist() == [-7.0, -5.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fails": "make"}, r"Gymnasium cannot make it \(RuntimeError: no licence"),
        ({"colour": "red"}, r"Gymnasium cannot make it \(TypeError: .*colour"),
        ({"seen": "text"}, ".*observations are .*Text.*, which are no numbers"),
        ({"fails": "reset"}, r"it failed to reset \(RuntimeError: no display"),
        ({"fails": "step"}, r"it failed in a step \(ZeroDivisionError: in the physics"),
    ],
)
def test_what_an_environment_raises_is_named(options, message):
    def play() -> None:
        copies = GymCopies(NAME, options, 2)
        copies.reset(0)
        copies.step(np.zeros(2, int))

    with pytest.raises(ValueError, match=f"gym is '{NAME}': {message}"):
        play()


@pytest.mark.parametrize(
    ("embedding", "stagger", "kept"),
    [
        ("plain", 600, [600]),
        ("sparse", 600, range(3, 601, 3)),
        ("sparse", 256, range(1, 257)),
        ("centred", 257, range(2, 257, 2)),
    ],
)
def test_random_play_keeps_a_sample_of_its_frames(
    monkeypatch, unchecked_types, embedding, stagger, kept
):
    """At 256 steps at most, whatever their number; without a use for a sample only the last."""
    small = {"memory": "gru", "hidden_size": 4, "envs": 2}
    chosen = {"embedding": embedding, "stagger": stagger}
    run = resolve_settings("CartPole-v1", overrides=small | chosen, seed=5)
    trainer, given = make_trainer(run), []
    monkeypatch.setattr(trainer, "_init", lambda *parts: given.append(parts[1:]))
    trainer.start(jax.random.key(0))
    copies, rng = GymCopies("CartPole-v1", {}, 2), np.random.default_rng(5)
    played = [copies.reset(5)]
    played += [copies.step(rng.integers(0, 2, 2)).frames for _ in range(stagger)]
    ((sample, frames),) = given
    np.testing.assert_array_equal(sample, np.concatenate([played[time] for time in kept]))
    np.testing.assert_array_equal(frames, played[-1])


@pytest.mark.slow
def test_keyword_arguments_are_part_of_a_run(tmp_path, capsys):
    options = json.dumps({"seen": "parts", "first": 3, "steps": 5})
    flags = ("--gym", NAME, "--memory", "gru", "--hidden-size", "4", "--envs", "2", "--rollout")
    flags = (*flags, "10", "--block-every", "5", "--updates-per-call", "1", "--stagger", "3")
    command = ("train", *flags, "--out", tmp_path, "--json")
    code, out, err = run(capsys, *command, "--gym-kwargs", options, "--steps", 100)
    assert code == 0, err
    # Five actions of 3 to 5 are paid.
    assert 15 <= json.loads(out)["return_mean"] <= 25
    assert json.loads((tmp_path / "settings.json").read_text())["params"] == json.loads(options)
    code, out, err = run(capsys, "train", "--resume", "--out", tmp_path, "--steps", 140, "--json")
    assert code == 0, err
    assert json.loads(out)["steps"] == 140
    code, out, err = run(capsys, "evaluate", tmp_path, "--episodes", 3, "--json")
    assert code == 0, err
    assert json.loads(out)["sampled"]["worst"] >= 15


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("t-maze", "--gym-kwargs", "{}"), "gym_kwargs is '{}': it must be left out without --gym"),
        (("--gym", NAME, "--gym-kwargs", "[1]"), "gym_kwargs is '[1]': it must be a JSON object"),
        (("--gym", NAME, "--gym-kwargs", "x=1"), "gym_kwargs is 'x=1': it must be a JSON object"),
        (("--gym", NAME, "--gym-kwargs", '{"fails": "make"}'), "no licence"),
    ],
)
def test_bad_keyword_arguments_are_named(tmp_path, capsys, flags, message):
    code, _, err = run(capsys, "train", *flags, "--out", tmp_path / "run")
    assert code == 1
    assert message in err
