"""Hidden draws come out as often as they should."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from longpass.envs import (
    CuedCatch,
    GivenSpeckle,
    HashedSpeckle,
    SequenceRecall,
    TMaze,
)
from longpass.envs import _t_maze_world as world

KEYS = jax.random.split(jax.random.key(11), 6000)


def draws(env):
    return jax.vmap(lambda key: env.draw(key, env.default_params))(KEYS)


def fair(counts):
    """The chance of counts at least this uneven, if all are equally likely."""
    return stats.chisquare(counts).pvalue


def test_six_cue_maps():
    maps = np.asarray(draws(CuedCatch()).cues_to_balls)
    found, counts = np.unique(maps, axis=0, return_counts=True)
    assert len(found) == 6
    assert (found.sum(1) == 2).all()
    assert fair(counts) > 1e-4


def test_cues_are_uniform_and_independent():
    cues = np.asarray(draws(CuedCatch()).cue_sequence)
    assert cues.shape == (6000, 101)
    for trial in (0, 15, 16, 50, 100):
        assert fair(np.bincount(cues[:, trial], minlength=4)) > 1e-4
    pairs = 4 * cues[:, :-1] + cues[:, 1:]
    assert fair(np.bincount(pairs[:, ::2].reshape(-1), minlength=16)) > 1e-4


def test_goals_are_fair():
    assert fair(np.bincount(np.asarray(draws(TMaze()).which_goal))) > 1e-4


def test_lights_are_uniform():
    lights = np.asarray(draws(SequenceRecall()).sequence)
    assert set(lights.reshape(-1)) == {1, 2, 3, 4}
    codes = ((lights - 1) * 4 ** np.arange(4)).sum(1)
    assert fair(np.bincount(codes, minlength=256)) > 1e-4


def test_six_tenths_of_the_dirt_are_kept():
    speckles = draws(TMaze()).speckle
    cells = jnp.asarray(np.flatnonzero(world.WORLD == world.DIRT)[:400])
    kept = np.asarray(jax.vmap(lambda speckle: speckle.kept(cells))(speckles))
    assert kept.mean() == pytest.approx(0.6, abs=0.002)
    by_cell, by_episode = kept.mean(0), kept.mean(1)
    # Spread of means of coins: cells and episodes are neither favoured nor alike.
    assert by_cell.std() == pytest.approx(np.sqrt(0.24 / 6000), rel=0.15)
    assert by_episode.std() == pytest.approx(np.sqrt(0.24 / 400), rel=0.05)
    centred = kept - 0.6
    for lag in (1, 2, 11, 191):
        assert abs((centred[:, lag:] * centred[:, :-lag]).mean() / 0.24) < 0.005
        assert abs((centred[lag:] * centred[:-lag]).mean() / 0.24) < 0.005


def test_a_given_speckle_is_the_hashed_one_written_down():
    speckle = HashedSpeckle(jnp.array([5, 6], jnp.uint32))
    mask = speckle.mask()
    assert mask[world.WORLD == world.DIRT].mean() == pytest.approx(0.6, abs=0.02)
    assert not mask[world.WORLD != world.DIRT].any()
    np.testing.assert_array_equal(GivenSpeckle.of(mask).mask(), mask)
