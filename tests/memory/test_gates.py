"""LSTM and GRU against Equinox's cells with the same weights."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from longpass.memory import GRU, LSTM


def randomise(memory):
    """Every weight and bias random, so that none is left untested by being 0."""
    rng = np.random.default_rng(5)
    return jax.tree.map(lambda leaf: jnp.asarray(0.5 * rng.standard_normal(leaf.shape)), memory)


def draw(*shape):
    return np.random.default_rng(2).standard_normal(shape)


@eqx.filter_jit
def unroll(memory, xs):
    return memory.unroll(memory.initial_state(), xs)


def test_lstm_is_equinoxs():
    ours = randomise(LSTM(3, 5, key=jax.random.key(0)))
    cell = eqx.nn.LSTMCell(3, 5, key=jax.random.key(1))
    cell = eqx.tree_at(
        lambda c: (c.weight_ih, c.weight_hh, c.bias),
        cell,
        (ours.input_weight, ours.recurrent_weight, ours.bias),
    )
    xs, state, step = draw(20, 3), (np.zeros(5), np.zeros(5)), eqx.filter_jit(cell)
    last, ys = jax.device_get(unroll(ours, xs))
    for x, y in zip(xs, ys, strict=True):
        state = step(x, state)
        np.testing.assert_allclose(y, state[0], atol=1e-12)
    np.testing.assert_allclose(last.cell, state[1], atol=1e-12)


def test_gru_is_equinoxs():
    ours = randomise(GRU(3, 5, key=jax.random.key(0)))
    cell = eqx.nn.GRUCell(3, 5, key=jax.random.key(1))
    cell = eqx.tree_at(
        lambda c: (c.weight_ih, c.weight_hh, c.bias, c.bias_n),
        cell,
        (ours.input_weight, ours.recurrent_weight, ours.bias, ours.candidate_bias),
    )
    xs, state, step = draw(20, 3), np.zeros(5), eqx.filter_jit(cell)
    _, ys = jax.device_get(unroll(ours, xs))
    for x, y in zip(xs, ys, strict=True):
        state = step(x, state)
        np.testing.assert_allclose(y, state, atol=1e-12)


def test_initial_weights_are_sound():
    lstm = jax.device_get(LSTM(6, 32, key=jax.random.key(0)))
    for gate in np.split(lstm.recurrent_weight, 4):
        np.testing.assert_allclose(gate @ gate.T, np.eye(32), atol=1e-10)
    forget = np.split(lstm.bias, 4)[1]
    assert np.all(forget == 1)
    assert lstm.bias.sum() == 32
    bound = np.sqrt(6 / (6 + 32))
    assert 0.9 * bound < np.abs(lstm.input_weight).max() <= bound


def test_chrono_initialisation_gives_gates_times_up_to_the_longest():
    plain, chrono, gru, low = jax.device_get(
        (
            LSTM(3, 300, key=jax.random.key(0)),
            LSTM(3, 300, longest_time=50, key=jax.random.key(0)),
            GRU(3, 300, longest_time=50, key=jax.random.key(0)),
            LSTM(3, 4, forget_bias=-2.0, key=jax.random.key(0)),
        )
    )
    for name in ("input_weight", "recurrent_weight"):
        np.testing.assert_array_equal(getattr(plain, name), getattr(chrono, name))
    put_in, forget, *others = np.split(chrono.bias, 4)
    np.testing.assert_array_equal(put_in, -forget)
    assert not np.stack(others).any()
    # A gate of bias b passes on a share 1 - 1 / (1 + exp(b)) per step: its time is 1 + exp(b).
    times = 1.0 + np.exp(forget)
    assert 2.0 <= times.min() < 3.0
    assert 49.0 < times.max() <= 50.0
    assert 24.0 < times.mean() < 28.0
    update = np.split(gru.bias, 3)[1]
    np.testing.assert_array_equal(update, forget)
    np.testing.assert_array_equal(np.split(low.bias, 4)[1], -2.0)
