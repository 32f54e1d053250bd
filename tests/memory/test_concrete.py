"""What is particular to Concrete and Parallel: writing, gradients by pool, reading."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from longpass.memory._reading import read_by_chunks, read_by_scan

from longpass.memory import Concrete, Parallel, PoolChain, _reading, rates
from longpass.memory._reader import _layer_norm
from tests.memory.zoo import SIZES, sample, weigh

kinds = pytest.mark.parametrize("kind", [Concrete, Parallel])


def build(kind=Concrete, inputs=4, **options):
    return kind(inputs, **{**SIZES, **options}, key=jax.random.key(0))


@kinds
@pytest.mark.parametrize("inputs", [2, 4, 9])
def test_writing_starts_as_a_padded_identity_over_the_base(kind, inputs):
    memory = build(kind, inputs)
    np.testing.assert_allclose(memory.write, np.eye(4, inputs) / 1.7)
    # So a fresh network's pools are plain pools of the (padded or cropped) input.
    xs = jax.random.normal(jax.random.key(1), (50, inputs))
    last, _ = memory.unroll(memory.initial_state(), xs)
    _, pools = memory.pools.unroll(memory.initial_state(), xs @ np.eye(inputs, 4))
    np.testing.assert_allclose(last, pools[-1], atol=1e-12)


@kinds
@pytest.mark.parametrize("gradient_pools", [0, 1, 2, 3])
@pytest.mark.parametrize("with_starts", [False, True])
def test_gradients_pass_through_the_fastest_pools_only(kind, gradient_pools, with_starts):
    memory = build(kind, gradient_pools=gradient_pools, activation=jnp.tanh)
    state, xs, starts = sample(memory, 40, 0, 0.02)
    starts = starts if with_starts else None

    def loss(memory, state):
        return weigh(memory.unroll(state, xs, starts)[1])

    grad_memory, grad_state = eqx.filter_grad(lambda args: loss(*args))((memory, state))
    reached = np.abs(np.asarray(grad_state)).max(axis=1) > 0
    assert reached.tolist() == [n < gradient_pools for n in range(3)]
    # Every viewport learns, whether its pool passes gradients on or not.
    assert np.all(np.abs(np.asarray(grad_memory.reader.viewports)).max(axis=(1, 2)) > 0)
    assert bool(jnp.any(grad_memory.write != 0)) == (gradient_pools > 0)


@pytest.mark.parametrize("gradient_pools", [1, 2])
def test_blocked_pools_are_constants_to_the_writer(gradient_pools):
    """The gradient in `write` is that of a network whose slower pools are given from outside."""
    memory = build(gradient_pools=gradient_pools, activation=jnp.tanh, read_input=False)
    xs = jax.random.normal(jax.random.key(1), (30, 4))
    chain = PoolChain(4, memory.pools.rates)
    _, constant = chain.unroll(chain.initial_state(), xs @ memory.write.T * 1.7)

    def by_hand(write):
        _, pools = chain.unroll(chain.initial_state(), xs @ write.T * 1.7)
        pools = jnp.concatenate([pools[:, :gradient_pools], constant[:, gradient_pools:]], axis=1)
        views = jnp.einsum("tnd,nvd->tnv", pools, memory.reader.viewports).reshape(30, -1)
        seen = jnp.tanh(views)
        return weigh(jnp.tanh(seen @ memory.reader.summariser.T))

    def ours(write):
        changed = eqx.tree_at(lambda m: m.write, memory, write)
        return weigh(changed.unroll(changed.initial_state(), xs)[1])

    np.testing.assert_allclose(
        jax.grad(ours)(memory.write), jax.grad(by_hand)(memory.write), atol=1e-12
    )


@pytest.mark.parametrize("normalise", ["none", "layer"])
@pytest.mark.parametrize("length", [1, 8, 31])
def test_reading_by_scan_is_reading_what_was_kept(normalise, length, monkeypatch):
    monkeypatch.setattr(_reading, "AT_ONCE", 0)  # so 31 steps are two stretches and a rest
    monkeypatch.setattr(_reading, "HELD", 0)
    memory = build(normalise=normalise)
    filt, reader = memory.pools.filter.drop(1), memory.reader
    state, drive, starts = sample(memory.pools, length, 1, 0.2)
    for given in (None, starts):
        pools_memory = PoolChain(4, filt.rates)
        last, pools = pools_memory.unroll(state[1:], drive / filt.rates[0], given)
        kept = jnp.concatenate([reader.view(1 + n, pools[:, n]) for n in range(2)], axis=1)
        forms = [read_by_scan(reader, 1, filt, state[1:], drive, given)]
        if normalise == "none":
            forms.append(read_by_chunks(reader, 1, filt, state[1:], drive, given))
        for after, views in forms:
            np.testing.assert_allclose(after, last, atol=1e-12)
            np.testing.assert_allclose(jnp.concatenate(views, axis=1), kept, atol=1e-9)


def test_layer_puts_every_pool_on_one_scale():
    memory = build(normalise="layer", activation=lambda x: x, read_input=False)
    xs = jax.random.normal(jax.random.key(1), (200, 4))
    _, loud = memory.unroll(memory.initial_state(), 100 * xs)
    _, soft = memory.unroll(memory.initial_state(), xs)
    np.testing.assert_allclose(loud[-1], soft[-1], rtol=1e-3)


def test_layer_is_the_textbooks_also_where_units_hardly_differ():
    pool = (1.0 + 0.01 * jax.random.normal(jax.random.key(0), (50, 198))).astype(jnp.float32)
    exact = np.asarray(pool, np.float64)
    exact = exact - exact.mean(-1, keepdims=True)
    exact /= np.sqrt(exact.var(-1, keepdims=True) + 1e-6)
    np.testing.assert_allclose(_layer_norm(pool), exact, atol=0.01)
    for empty in (jnp.zeros(198, jnp.float32), jnp.full(198, 3.0, jnp.float32)):
        value, gradient = jax.value_and_grad(lambda p: jnp.sum(_layer_norm(p) ** 2))(empty)
        assert value < 1e-3
        assert jnp.isfinite(gradient).all()


def test_reader_sees_the_input_only_if_asked():
    xs = jnp.zeros((1, 4)).at[0, 0].set(1.0)
    for read_input in (True, False):
        memory = build(read_input=read_input, activation=lambda x: x)
        memory = eqx.tree_at(lambda m: m.reader.viewports, memory, replace_fn=jnp.zeros_like)
        _, ys = memory.unroll(memory.initial_state(), xs)
        assert bool(jnp.any(ys != 0)) == read_input


def test_projection_link_starts_as_the_papers_model():
    xs = jax.random.normal(jax.random.key(1), (40, 4))
    plain, linked = (build(link=link) for link in ("none", "projection"))
    linked = eqx.tree_at(lambda m: m.reader, linked, plain.reader)
    ours, theirs = (m.unroll(m.initial_state(), xs) for m in (linked, plain))
    np.testing.assert_allclose(ours[0], theirs[0], atol=1e-12)
    np.testing.assert_allclose(ours[1], theirs[1], atol=1e-12)


def test_orthonormal_links_are_orthonormal_and_fixed():
    memory = build(link="orthonormal-tanh", gradient_pools=3)
    for matrix in memory.pools.link.matrices:
        np.testing.assert_allclose(matrix @ matrix.T, np.eye(4), atol=1e-12)
    state, xs, _ = sample(memory, 10, 0)
    gradient = eqx.filter_grad(lambda m: weigh(m.unroll(state, xs)))(memory)
    assert not gradient.pools.link.matrices.any()
    assert gradient.write.any()


def test_a_closed_gate_holds_its_pool():
    memory = build(link="gate")
    closed = eqx.tree_at(
        lambda m: m.pools.link.biases, memory, replace_fn=lambda b: jnp.full_like(b, -1e9)
    )
    state, xs, _ = sample(closed, 20, 0)
    last, _ = closed.unroll(state, xs)
    np.testing.assert_array_equal(last[1:], state[1:])
    assert jnp.any(last[0] != state[0])


def test_the_chain_commutes_with_linear_maps():
    """m(f(x)) = f(m(x)): section 4.2 of the paper."""
    matrix = jax.random.normal(jax.random.key(2), (4, 4))
    xs = jax.random.normal(jax.random.key(1), (40, 4))
    chain = PoolChain(4, rates(2.0, 3))
    _, mapped_first = chain.unroll(chain.initial_state(), xs @ matrix.T)
    _, pools = chain.unroll(chain.initial_state(), xs)
    np.testing.assert_allclose(mapped_first, pools @ matrix.T, atol=1e-12)
