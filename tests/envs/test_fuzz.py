"""Five thousand random episodes per world, with the paper's settings: what holds in all of them."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from longpass.envs import CuedCatch, SequenceRecall, TMaze

# The worlds are played once, by one process.
pytestmark = pytest.mark.xdist_group("fuzz")
COPIES = 5000


@functools.partial(jax.jit, static_argnums=(0, 1))
def fuzz(env, steps, key):
    """Random play without reset. Per copy: end, return, bonuses, broken rules, last state."""
    params = env.default_params
    place = {"cued-catch": catch_place, "t-maze": maze_place, "sequence-recall": recall_place}
    keys = jax.random.split(key, COPIES + 1)
    _, states = jax.vmap(lambda key: env.reset(key, params))(keys[1:])
    zero = jnp.zeros(COPIES)

    def frame(carry, key):
        states, total, bonus, broken, length = carry
        keys = jax.random.split(key, 2)
        actions = jax.random.randint(keys[0], (COPIES,), 0, 5)
        step = jax.vmap(lambda state, action: env.step(keys[1], state, action, params))
        frames, new, rewards, terminated, truncated, info = step(states, actions)
        held, stays_in = jax.vmap(place[env.name])(states, new)
        broken |= (frames.sum(-1) != 1).any((1, 2)) | held | ~stays_in | truncated
        broken |= info["discount"] != 1.0 - terminated
        length += (length == 0) * terminated * new.frame
        return (new, total + rewards, bonus + jnp.round(rewards), broken, length), None

    start = (states, zero, zero, jnp.zeros(COPIES, bool), jnp.zeros(COPIES, int))
    return jax.lax.scan(frame, start, jax.random.split(keys[0], steps))[0]


def catch_place(old, new):
    """(moved while held, is where it can be)"""
    return jnp.asarray(False), (new.row == 1) | (new.row == 2)


def maze_place(old, new):
    since = new.frame - old.teleported
    held = (old.teleported >= 0) & (since >= 1) & (since <= 280 + 1)
    moved = (new.camera != old.camera).any() | (new.player_col != old.player_col)
    inside = (new.player_col >= 3) & (new.player_col <= 7)
    return held & moved, inside & (new.camera >= 0).all() & (new.camera[1] <= 180)


def recall_place(old, new):
    moved = (new.row != old.row) | (new.col != old.col)
    inside = (new.row >= 1) & (new.row <= 15) & (new.col >= 1) & (new.col <= 19)
    return moved & ((new.frame < 362) | (old.slot == 4)), inside & (new.slot <= 4)


@pytest.fixture(scope="module")
def played():
    return {
        env.name: jax.tree.map(np.asarray, fuzz(env, 1000, jax.random.key(1)))
        for env in (CuedCatch(), TMaze(), SequenceRecall())
    }


def test_cued_catch(played):
    _, total, _, broken, length = played["cued-catch"]
    assert not broken.any()
    assert (length == 739).all()
    assert ((total >= 0) & (total <= 60) & (total == np.round(total))).all()
    assert total.mean() == pytest.approx(30, abs=0.3)
    assert total.std() == pytest.approx(3.8, abs=0.2)


def test_t_maze(played):
    state, total, bonus, broken, length = played["t-maze"]
    assert not broken.any()
    assert (state.paid == (bonus != 0)).all()
    # A goal costs a frame less than the last but one; running out of time costs all but two.
    np.testing.assert_allclose(total, bonus - 0.001 * (length - 2), atol=2e-4)
    assert (length[bonus == 0] == 1000).all()
    assert (bonus == 0).mean() > 0.99
    assert (state.teleported >= 49).mean() > 0.95


def test_sequence_recall(played):
    state, total, bonus, broken, length = played["sequence-recall"]
    assert not broken.any()
    assert ((length >= 373) & (length <= 1000)).all()
    assert ((state.slot == 4) | (length == 1000)).all()
    np.testing.assert_allclose(total, bonus - 0.005 * (length - 2), atol=2e-3)
    assert total.mean() == pytest.approx(-1.11, abs=0.05)
    assert bonus.mean() == pytest.approx(0.98, abs=0.05)
    assert length.mean() == pytest.approx(421, abs=3)
