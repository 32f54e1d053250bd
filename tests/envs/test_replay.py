"""The recorded episodes of the original games, and files that are not what they should be."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from longpass.envs import find_episodes, replay_episode

GOLDEN = Path(__file__).parents[1] / "golden"
TAGS = {entry["file"]: entry["tags"] for entry in json.loads((GOLDEN / "index.json").read_text())}


@pytest.mark.parametrize("name", sorted(TAGS))
def test_every_recorded_episode_is_equal(name):
    result = replay_episode(GOLDEN / name)
    assert result.status == ("skipped" if TAGS[name] else "equal"), result.detail
    for tag in TAGS[name]:
        assert result.detail.startswith(tag)


def altered(tmp_path, name, **changes):
    """A copy of a recorded episode with keys changed, or left out (None)."""
    with np.load(GOLDEN / name) as file:
        record = {key: file[key] for key in file.files}
    for key, change in changes.items():
        if change is None:
            del record[key]
        else:
            record[key] = change(record[key])
    path = tmp_path / name
    np.savez(path, **record)
    return path


def at(place, value):
    def change(array):
        array = array.copy()
        array[place] = value
        return array

    return change


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"boards": at((7, 0, 3), ord("#"))}, r"frame 7, cell \(0, 3\): recorded '#', ours ' '"),
        ({"rewards": at(5, 0.5)}, r"frame 5, reward: recorded 0.5, ours 0.0"),
        ({"rewards": at(5, 2e-6)}, r"frame 5, reward"),
        ({"rewards": at(5, np.nan)}, r"frame 5, reward"),
        ({"discounts": at(6, 0.0)}, r"frame 6, discount: recorded 0.0, ours 1.0"),
        ({"game_over": at(6, True)}, r"frame 6, end: recorded True, ours False"),
        ({"cue_sequence": lambda cues: (cues + 1) % 4}, r"frame \d+, cell"),
    ],
)
def test_a_difference_is_found_and_placed(tmp_path, change, where):
    result = replay_episode(altered(tmp_path, "cued_catch_02.npz", **change))
    assert result.status == "different"
    assert not result.ok
    assert re.match(where, result.detail), result.detail


def test_rewards_may_differ_by_rounding(tmp_path):
    path = altered(tmp_path, "cued_catch_02.npz", rewards=lambda r: r + 5e-7)
    assert replay_episode(path).status == "equal"


def settings(**changes):
    def change(text):
        return np.array(json.dumps(json.loads(str(text)) | changes))

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"game": lambda _: np.array("chess")}, "game is 'chess': it must be one of cued_catch"),
        ({"game": lambda _: np.array("t_maze")}, "has no 'which_goal'"),
        ({"game": None}, "has no 'game'"),
        ({"boards": None, "rewards": None}, "has no 'boards', 'rewards'"),
        ({"boards": lambda b: b[:-1]}, "boards has shape"),
        ({"actions": at(0, 9)}, "action id 9 is not one of Cued Catch's"),
        ({"actions": lambda a: a.astype(float)}, "actions has shape"),
        ({"params": lambda _: np.array("{")}, "params is not a JSON object"),
        ({"params": lambda _: np.array("3")}, "params is not a JSON object"),
        ({"params": lambda _: np.array("{}")}, "params has no"),
        ({"params": settings(speed=3)}, "params has 'speed'"),
        ({"params": settings(cue_duration=-4)}, "cue_duration is -4"),
        ({"cue_sequence": lambda c: c[:-1]}, "cue_sequence has shape"),
    ],
)
def test_files_that_cannot_be_played(tmp_path, change, message):
    result = replay_episode(altered(tmp_path, "cued_catch_02.npz", **change))
    assert result.status == "unreadable"
    assert message in result.detail


def test_a_speckle_of_another_world(tmp_path):
    path = altered(tmp_path, "t_maze_03.npz", speckle_shape=lambda _: np.array([5, 5]))
    assert "speckle has shape (5, 5)" in replay_episode(path).detail


def test_noise_is_not_in_the_record(tmp_path):
    path = altered(tmp_path, "cued_catch_02.npz", params=settings(reward_sigma=0.1))
    assert replay_episode(path).status == "skipped"


def test_damaged_files(tmp_path):
    whole = (GOLDEN / "t_maze_00.npz").read_bytes()
    flipped = bytearray(whole)
    for place in range(200, len(flipped) - 300, 7):
        flipped[place] ^= 0xFF
    for name, content in {
        "empty.npz": b"",
        "text.npz": b"not a zip file",
        "cut.npz": whole[: len(whole) // 2],
        "flipped.npz": bytes(flipped),
    }.items():
        path = tmp_path / name
        path.write_bytes(content)
        result = replay_episode(path)
        assert result.status == "unreadable"
        assert "damaged" in result.detail
        assert "pickle" not in result.detail, "never advise to unpickle"
    assert replay_episode(tmp_path / "nothing.npz").detail == "there is no such file"


def test_an_array_alone_is_not_an_episode(tmp_path):
    np.save(tmp_path / "one.npy", np.arange(3))
    assert "not an .npz file" in replay_episode(tmp_path / "one.npy").detail


def test_folders_and_files(tmp_path):
    assert len(find_episodes([GOLDEN])) == len(TAGS)
    assert find_episodes([GOLDEN / "t_maze_00.npz"]) == [GOLDEN / "t_maze_00.npz"]
    with pytest.raises(ValueError, match=r"has no \.npz files"):
        find_episodes([tmp_path])
