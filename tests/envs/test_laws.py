"""What holds for every environment."""

import dataclasses
import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longpass.envs import (
    Action,
    AutoReset,
    CuedCatch,
    CuedCatchParams,
    DelayedCue,
    DelayedCueParams,
    SequenceRecall,
    SequenceRecallParams,
    TMaze,
    TMazeParams,
    names,
)
from tests.envs.fourth_world import Corridor, CorridorParams

SHORT = {
    CuedCatch(): CuedCatchParams(1, 3, num_trials=3, reward_free_trials=1),
    TMaze(): TMazeParams(level=0, timeout_frames=40, teleport_delay=2, limbo_time=4),
    SequenceRecall(): SequenceRecallParams(2, 2, 2, 1, timeout_frames=40),
    DelayedCue(): DelayedCueParams(delay=6),
    Corridor(): CorridorParams(length=5),
}
# A parameter of each that is not fixed when compiling.
VARIED = {
    CuedCatch(): "reward_free_trials",
    TMaze(): "timeout_frames",
    SequenceRecall(): "timeout_frames",
    DelayedCue(): "delay",
    Corridor(): "length",
}
every_env = pytest.mark.parametrize("env", SHORT, ids=lambda env: env.name)
KEY = jax.random.key(0)


STEPS = 50


def play(env, params, key, actions):
    """Frames of one copy that plays these actions: what `step` returns, with time in front."""
    keys = jax.random.split(key, 1 + len(actions))
    observation, state = env.reset(keys[0], params)

    def frame(state, action_and_key):
        action, key = action_and_key
        out = env.step(key, state, action, params)
        return out[1], out

    return observation, jax.lax.scan(frame, state, (actions, keys[1:]))[1]


_play = jax.jit(play, static_argnums=0)


def roll(env, params, key, actions):
    """`play`, compiled once for all laws that play `STEPS` actions. Arrays are those of NumPy."""
    return jax.device_get(_play(env, params, key, actions))


def draw_actions(*shape):
    return np.random.default_rng(0).integers(0, 5, shape)


def take(tree, copy):
    return jax.tree.map(lambda leaf: leaf[copy], tree)


def assert_same(a, b):
    jax.tree.map(np.testing.assert_array_equal, a, b)


def test_every_world_is_under_these_laws():
    assert set(names()) <= {env.name for env in SHORT}


@every_env
def test_a_key_determines_an_episode(env):
    actions = draw_actions(STEPS)
    assert_same(roll(env, SHORT[env], KEY, actions), roll(env, SHORT[env], KEY, actions))
    draw = jax.jit(jax.vmap(lambda key: env.draw(key, SHORT[env])))
    drawn = jax.tree.leaves(jax.device_get(draw(jax.random.split(KEY, 20))))
    hidden = {b"".join(leaf[copy].tobytes() for leaf in drawn) for copy in range(20)}
    assert len(hidden) > 1, "keys make no difference"


@every_env
def test_compiling_changes_nothing(env):
    params = SHORT[env]
    with jax.disable_jit():
        plain = env.reset(KEY, params)
        plain_step = env.step(KEY, plain[1], Action.UP, params)
    compiled = env.reset(KEY, params)
    assert_same(plain, compiled)
    assert_same(plain_step, env.step(KEY, compiled[1], Action.UP, params))


@every_env
def test_vmap_is_a_loop(env):
    params, keys = SHORT[env], jax.random.split(KEY, 4)
    actions = draw_actions(4, STEPS)
    mapped = jax.jit(jax.vmap(lambda key, actions: play(env, params, key, actions)))
    together = jax.device_get(mapped(keys, actions))
    for copy in range(4):
        assert_same(take(together, copy), roll(env, params, keys[copy], actions[copy]))


@every_env
def test_default_params_are_used_when_none_are_given(env):
    observation, state = env.reset(KEY)
    assert_same((observation, state), env.reset(KEY, env.default_params))
    assert_same(env.step(KEY, state, 0), env.step(KEY, state, 0, env.default_params))


@every_env
def test_compiles_once_for_all_settings_of_a_kind(env):
    traced = []

    @functools.partial(jax.jit, static_argnums=0)
    def begin(env, params):
        traced.append(params)
        _, state = env.reset(KEY, params)
        return env.step(KEY, state, 0, params)

    for value in (7, 8, 9):
        begin(type(env)(), dataclasses.replace(SHORT[env], **{VARIED[env]: value}))
    assert len(traced) == 1


@functools.partial(jax.jit, static_argnums=0)
def draw_boards(env, params, states):
    return jax.vmap(lambda state: env.board(state, params))(states)


@every_env
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**31 - 1))
def test_one_plane_a_cell_and_a_sane_end(env, seed):
    params = SHORT[env]
    actions = np.random.default_rng(seed).integers(0, 5, STEPS)
    first, (frames, states, rewards, terminated, truncated, info) = roll(
        env, params, jax.random.key(seed), actions
    )
    assert env.observation_space().contains(first)
    assert frames.dtype == np.uint8
    assert (frames.sum(-1) == 1).all()
    boards = draw_boards(env, params, states)
    planes = np.frombuffer(env.planes.encode(), np.uint8)
    np.testing.assert_array_equal(planes[frames.argmax(-1)], boards)
    end = int(terminated.argmax())
    assert terminated[end:].all()  # a finished episode stays finished
    assert not terminated[:end].any()
    assert not truncated.any()
    assert_same(info["discount"], 1.0 - terminated.astype(np.float32))
    assert not rewards[end + 1 :].any()
    still = jax.tree.map(lambda x: np.broadcast_to(x[end], x[end:].shape), states)
    assert_same(still, jax.tree.map(lambda x: x[end:], states))


@every_env
def test_a_batch_steps_as_each_copy_does(env):
    """Copies that end at different times, and steps on which none or some end."""
    params, stepper, copies = SHORT[env], AutoReset(env), 3
    each = jax.jit(jax.vmap(stepper.step, in_axes=(0, 0, 0, None)))
    reset = jax.jit(jax.vmap(stepper.reset, in_axes=(0, None)))
    _, states = reset(jax.random.split(KEY, copies), params)
    ended = np.zeros(copies, int)
    for number, key in enumerate(jax.random.split(KEY, 60)):
        keys, actions = jax.random.split(key, copies), (np.arange(copies) + number) % 5
        expected = each(keys, states, actions, params)
        batch = stepper.step_batch(keys, states, jnp.asarray(actions), params)
        assert_same(batch, expected)
        states, ended = batch[1], ended + np.asarray(batch[3] | batch[4])
        if number == 4:  # from here on the copies are at different frames
            _, fresh = reset(keys, params)
            states = jax.tree.map(
                lambda old, new: jnp.asarray(np.concatenate([new[:1], old[1:]])),
                *jax.device_get((states, fresh)),
            )
    assert ended.all()


@every_env
def test_auto_reset_keeps_the_last_frame(env):
    """Up to the end a wrapped copy is a plain one; then comes a new episode's frame 0."""
    params = SHORT[env]
    stepper, key = AutoReset(env), jax.random.key(5)
    observation, state = stepper.reset(key, params)
    ends = 0
    for step in range(60):
        key, step_key = jax.random.split(key)
        inner_key, reset_key = jax.random.split(step_key)
        plain = env.step(inner_key, state, step % 5, params)
        observation, state, reward, terminated, truncated, info = stepper.step(
            step_key, state, step % 5, params
        )
        assert_same((reward, terminated, truncated), plain[2:5])
        assert_same(info["final_observation"], plain[0])
        assert_same(info["discount"], plain[5]["discount"])
        expected = env.reset(reset_key, params) if terminated else plain[:2]
        assert_same((observation, state), expected)
        ends += int(terminated)
    assert ends >= 1


@every_env
def test_a_time_out_is_an_end_unless_asked_otherwise(env):
    params = SHORT[env]
    actions = np.full(STEPS, int(Action.STAY))
    _, faithful = roll(env, params, KEY, actions)
    assert faithful[3].any()
    assert not faithful[4].any()
    if not hasattr(params, "timeout_frames"):
        assert not faithful[5]["timed_out"].any()
        return
    assert faithful[5]["timed_out"].any()
    _, asked = roll(env, dataclasses.replace(params, truncate_at_timeout=True), KEY, actions)
    assert_same(asked[4], faithful[3])
    assert not asked[3].any()
    assert (asked[5]["discount"] == 1).all()


def test_parameters_map_like_anything_else():
    """Difficulty sweeps: one call, every copy as if it had been alone."""
    actions = draw_actions(STEPS)
    sweeps = [
        (TMaze(), TMazeParams(level=jnp.arange(3), timeout_frames=-1, teleport_delay=2,
                              limbo_time=jnp.array([0, 3, 9]))),
        (CuedCatch(), CuedCatchParams(1, num_trials=6, reward_free_trials=jnp.array([0, 2, 9]))),
        (SequenceRecall(), SequenceRecallParams(2, 2, 2, pause_frames=jnp.array([0, 3, 7]))),
    ]  # fmt: skip
    for env, params in sweeps:
        mapped = eqx.filter_jit(
            eqx.filter_vmap(
                lambda params, env=env: play(env, params, KEY, actions), in_axes=(eqx.if_array(0),)
            )
        )
        together = jax.device_get(mapped(params))
        for copy in range(3):
            one = jax.tree.map(
                lambda x, copy=copy: np.asarray(x)[copy] if eqx.is_array(x) else x, params
            )
            assert_same(take(together, copy), roll(env, one, KEY, actions))


@every_env
def test_state_is_small(env):
    _, state = env.reset(KEY)
    assert sum(x.nbytes for x in jax.tree.leaves(state)) < 200


def test_noise_on_rewards():
    env = CuedCatch()
    params = CuedCatchParams(1, num_trials=60, reward_free_trials=20, reward_sigma=0.5)
    quiet = dataclasses.replace(params, reward_sigma=0.0)
    actions = np.zeros(3 + 7 * 60, int)
    keys = jax.random.split(KEY, 20)

    @jax.jit
    def rewards(params):
        return jax.vmap(lambda key: play(env, params, key, actions)[1][2])(keys)

    noise = np.asarray(rewards(params)) - np.asarray(rewards(quiet))
    paying = np.arange(1, 1 + len(actions))
    paying = ((paying - 3) % 7 == 6) & ((paying - 3) // 7 >= 20)
    assert not noise[:, ~paying].any()
    assert noise[:, paying].std() == pytest.approx(0.5, rel=0.1)
    assert abs(noise[:, paying].mean()) < 0.06
