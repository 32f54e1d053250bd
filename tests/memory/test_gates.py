"""LSTM and GRU against Equinox's cells with the same weights."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from longpass.memory import GRU, LSTM


def randomise(memory):
    """Every weight and bias random, so that none is left untested by being 0."""
    leaves, tree = jax.tree.flatten(memory)
    keys = jax.random.split(jax.random.key(5), len(leaves))
    random = [0.5 * jax.random.normal(k, leaf.shape) for k, leaf in zip(keys, leaves, strict=True)]
    return jax.tree.unflatten(tree, random)


def test_lstm_is_equinoxs():
    ours = randomise(LSTM(3, 5, key=jax.random.key(0)))
    cell = eqx.nn.LSTMCell(3, 5, key=jax.random.key(1))
    cell = eqx.tree_at(
        lambda c: (c.weight_ih, c.weight_hh, c.bias),
        cell,
        (ours.input_weight, ours.recurrent_weight, ours.bias),
    )
    xs = jax.random.normal(jax.random.key(2), (20, 3))
    state = (jnp.zeros(5), jnp.zeros(5))
    last, ys = ours.unroll(ours.initial_state(), xs)
    for x, y in zip(xs, ys, strict=True):
        state = cell(x, state)
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
    xs = jax.random.normal(jax.random.key(2), (20, 3))
    state = jnp.zeros(5)
    _, ys = ours.unroll(ours.initial_state(), xs)
    for x, y in zip(xs, ys, strict=True):
        state = cell(x, state)
        np.testing.assert_allclose(y, state, atol=1e-12)


def test_initial_weights_are_sound():
    lstm = LSTM(6, 32, key=jax.random.key(0))
    for gate in jnp.split(lstm.recurrent_weight, 4):
        np.testing.assert_allclose(gate @ gate.T, np.eye(32), atol=1e-10)
    forget = jnp.split(lstm.bias, 4)[1]
    assert jnp.all(forget == 1)
    assert lstm.bias.sum() == 32
    bound = np.sqrt(6 / (6 + 32))
    assert 0.9 * bound < jnp.abs(lstm.input_weight).max() <= bound


def test_chrono_initialisation_gives_gates_times_up_to_the_longest():
    plain = LSTM(3, 300, key=jax.random.key(0))
    chrono = LSTM(3, 300, longest_time=50, key=jax.random.key(0))
    for name in ("input_weight", "recurrent_weight"):
        np.testing.assert_array_equal(getattr(plain, name), getattr(chrono, name))
    put_in, forget, *others = jnp.split(chrono.bias, 4)
    np.testing.assert_array_equal(put_in, -forget)
    assert not jnp.stack(others).any()
    # A gate of bias b passes on a share 1 - 1 / (1 + exp(b)) per step: its time is 1 + exp(b).
    times = 1.0 / (1.0 - jax.nn.sigmoid(forget))
    assert 2.0 <= times.min() < 3.0
    assert 49.0 < times.max() <= 50.0
    assert 24.0 < times.mean() < 28.0
    update = jnp.split(GRU(3, 300, longest_time=50, key=jax.random.key(0)).bias, 3)[1]
    np.testing.assert_array_equal(update, forget)
    low = LSTM(3, 4, forget_bias=-2.0, key=jax.random.key(0))
    np.testing.assert_array_equal(jnp.split(low.bias, 4)[1], -2.0)
