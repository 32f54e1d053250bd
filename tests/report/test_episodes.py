"""Episodes are packed as they were played, on every world."""

import base64
import zlib

import numpy as np
import pytest

from longpass.report._episodes import pack_episode
from tests.report.pages import SHORT, play

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]


@pytest.mark.parametrize(
    ("env", "memory"), [*((env, "chain") for env in SHORT), ("t-maze", "lstm")]
)
def test_episodes_are_packed_as_they_were_played(env, memory):
    run, world, played = play(env, memory)
    packed = pack_episode(run, world, "folder", 3, played)
    frames = len(played.episode)
    assert packed["frames"] == frames == len(played.values) == len(played.actions) + 1
    codes = np.unique(played.episode.boards)
    boards = np.frombuffer(zlib.decompress(base64.b64decode(packed["boards"])), np.uint8)
    assert np.array_equal(codes[boards].reshape(played.episode.boards.shape), played.episode.boards)
    memory_bytes = np.frombuffer(zlib.decompress(base64.b64decode(packed["memory"])), np.int8)
    found = memory_bytes.reshape(frames, len(packed["parts"]), -1) / 127
    assert len(packed["parts"]) == (4 if memory == "chain" else 2)
    for n, part in enumerate(played.memory):
        scale = np.abs(part).max()
        np.testing.assert_allclose(found[:, n], part / scale, atol=0.5 / 127 + 1e-6)
    names, places = packed["phases"]
    assert len(places) == frames
    assert names
    assert np.isnan(played.values[-1])
    assert np.isfinite(played.values[:-1]).all()
