"""What is particular to Concrete and Parallel: writing, gradients by pool, reading."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from longpass.memory import (
    Concrete,
    Gate,
    OrthonormalTanh,
    Parallel,
    PoolChain,
    Projection,
    rates,
)
from longpass.memory._frozen_pools import (
    fastest_read_form,
    read_at_once,
    read_by_chunks,
    read_in_stretches,
)
from longpass.memory._reader import _layer_norm
from longpass.theory import mean_delay
from tests.memory.zoo import SIZES, sample, weigh

kinds = pytest.mark.parametrize("kind", [Concrete, Parallel])


def build(kind=Concrete, inputs=4, **options):
    return kind(inputs, 5, **{**SIZES, **options}, key=jax.random.key(0))


def draw(*shape):
    return jnp.asarray(np.random.default_rng(1).standard_normal(shape))


@eqx.filter_jit
def unroll(memory, xs, state=None):
    return memory.unroll(memory.initial_state() if state is None else state, xs)


@kinds
def test_every_argument_can_be_read_under_its_name(kind):
    arguments = {
        "input_size": 7,
        "output_size": 9,
        "num_pools": 5,
        "pool_size": 6,
        "base": 1.5,
        "viewport_size": 4,
        "gradient_pools": 2,
        "read_input": False,
        "normalise": "layer",
        "activation": jnp.tanh,
        "dtype": jnp.float32,
    }
    if kind is Concrete:
        arguments["link"] = Gate(6, 5, dtype=jnp.float32)
    memory = kind(**arguments, key=jax.random.key(0))
    for name, value in arguments.items():
        assert getattr(memory, name) is value or getattr(memory, name) == value, name
    defaults = kind(7, key=jax.random.key(0))
    assert (defaults.num_pools, defaults.pool_size, defaults.output_size) == (8, 64, 128)
    assert (defaults.base, defaults.viewport_size, defaults.gradient_pools) == (2.0, 16, 1)
    assert (defaults.read_input, defaults.normalise, defaults.link) == (True, None, None)


@kinds
@pytest.mark.parametrize(("horizon", "base"), [(280, 2.0), (50, 1.5), (0, 3.0)])
def test_for_horizon_takes_the_fewest_pools_that_reach_it(kind, horizon, base):
    # Sizes are known without drawing a weight.
    make = functools.partial(eqx.filter_eval_shape, kind.for_horizon, 3, key=jax.random.key(0))
    memory = make(4, horizon=horizon, base=base, pool_size=2)
    wiring = "chain" if kind is Concrete else "parallel"
    delays = mean_delay(rates(base, 20), wiring)
    assert memory.num_pools == 1 + int(np.argmax(delays >= horizon))
    assert (memory.base, memory.pool_size, memory.output_size) == (base, 2, 4)
    assert make(horizon=9).base == 2.0


@kinds
@pytest.mark.parametrize("inputs", [2, 4, 9])
def test_writing_starts_as_a_padded_identity_over_the_base(kind, inputs):
    memory = build(kind, inputs)
    np.testing.assert_allclose(memory.write, np.eye(4, inputs) / 1.7)

    # So a fresh network's pools are plain pools of the (padded or cropped) input.
    @jax.jit
    def run(xs):
        last, _ = memory.unroll(memory.initial_state(), xs)
        _, pools = memory.filters.unroll(memory.initial_state(), xs @ np.eye(inputs, 4))
        return last, pools[-1]

    last, pools = run(draw(50, inputs))
    np.testing.assert_allclose(last, pools, atol=1e-12)


@kinds
@pytest.mark.parametrize("gradient_pools", [0, 1, 2, 3])
@pytest.mark.parametrize("with_starts", [False, True])
def test_gradients_pass_through_the_fastest_pools_only(kind, gradient_pools, with_starts):
    memory = build(kind, gradient_pools=gradient_pools, activation=jnp.tanh)
    state, xs, starts = sample(memory, 40, 0, 0.02)
    starts = starts if with_starts else None

    def loss(memory, state):
        return weigh(memory.unroll(state, xs, starts)[1])

    grad = eqx.filter_jit(eqx.filter_grad(lambda args: loss(*args)))
    grad_memory, grad_state = grad((memory, state))
    reached = np.abs(np.asarray(grad_state)).max(axis=1) > 0
    assert reached.tolist() == [n < gradient_pools for n in range(3)]
    # Every viewport learns, whether its pool passes gradients on or not.
    assert np.all(np.abs(np.asarray(grad_memory.reader.viewports)).max(axis=(1, 2)) > 0)
    assert np.any(grad_memory.write) == (gradient_pools > 0)


@pytest.mark.parametrize("gradient_pools", [1, 2])
def test_blocked_pools_are_constants_to_the_writer(gradient_pools):
    """The gradient in `write` is that of a network whose slower pools are given from outside."""
    memory = build(gradient_pools=gradient_pools, activation=jnp.tanh, read_input=False)
    xs = draw(30, 4)
    chain = PoolChain(4, memory.filter.rates)

    def by_hand(write):
        _, constant = chain.unroll(chain.initial_state(), xs @ memory.write.T * 1.7)
        _, pools = chain.unroll(chain.initial_state(), xs @ write.T * 1.7)
        pools = jnp.concatenate([pools[:, :gradient_pools], constant[:, gradient_pools:]], axis=1)
        views = jnp.einsum("tnd,nvd->tnv", pools, memory.reader.viewports).reshape(30, -1)
        seen = jnp.tanh(views)
        return weigh(jnp.tanh(seen @ memory.reader.summariser.T))

    def ours(write):
        changed = eqx.tree_at(lambda m: m.write, memory, write)
        return weigh(changed.unroll(changed.initial_state(), xs)[1])

    np.testing.assert_allclose(
        jax.jit(jax.grad(ours))(memory.write), jax.jit(jax.grad(by_hand))(memory.write), atol=1e-12
    )


FORMS = {
    "at once": read_at_once,
    # 31 steps are two stretches and a rest.
    "stretches": functools.partial(read_in_stretches, steps=16),
    "chunks": read_by_chunks,
}


@pytest.mark.parametrize("normalise", [None, "layer"])
@pytest.mark.parametrize("length", [1, 8, 31])
def test_reading_frozen_pools_is_reading_what_was_kept(normalise, length):
    """In outputs, and in gradients of the reader, by every form."""
    memory = build(normalise=normalise)
    filt = memory.filter.drop(1)
    state, drive, starts = sample(memory.filters, length, 1, 0.2)
    frozen = state[1:]

    def keep(reader, given):
        chain = PoolChain(4, filt.rates)
        last, pools = chain.unroll(frozen, drive / filt.rates[0], given)
        return last, jnp.concatenate([reader.view(1 + n, pools[:, n]) for n in range(2)], axis=1)

    def read(form, reader, given):
        last, views = form(reader, 1, filt, frozen, drive, given)
        return last, jnp.concatenate(views, axis=1)

    @eqx.filter_jit
    def run(way, given):
        def loss(reader):
            out = way(reader, given)
            return weigh(out), out

        return eqx.filter_value_and_grad(loss, has_aux=True)(memory.reader)

    # Normalised pools are not linear, which chunks need.
    forms = [form for name, form in FORMS.items() if name != "chunks" or normalise is None]
    for given in (None, starts):
        theirs = run(keep, given)
        for form in forms:
            ours = run(functools.partial(read, form), given)
            for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("normalise", "length", "with_starts", "form"),
    [
        (None, 3, False, read_at_once),
        (None, 300, True, read_at_once),
        (None, 600, False, read_by_chunks),
        ("layer", 600, False, read_at_once),
        ("layer", 20_000, False, read_in_stretches),
        (None, 20_000, True, read_in_stretches),
    ],
)
def test_which_form_reads_frozen_pools_on_a_cpu(normalise, length, with_starts, form):
    chosen = fastest_read_form(build(normalise=normalise).reader, (2, 4), length, with_starts)
    assert getattr(chosen, "func", chosen) is form


def test_layer_puts_every_pool_on_one_scale():
    memory = build(normalise="layer", activation=lambda x: x, read_input=False)
    xs = draw(200, 4)
    (_, loud), (_, soft) = (jax.device_get(unroll(memory, scale * xs)) for scale in (100, 1))
    np.testing.assert_allclose(loud[-1], soft[-1], rtol=1e-3)


def test_layer_is_the_textbooks_also_where_units_hardly_differ():
    pool = (1.0 + 0.01 * np.asarray(draw(50, 198))).astype(np.float32)
    exact = np.asarray(pool, np.float64)
    exact = exact - exact.mean(-1, keepdims=True)
    exact /= np.sqrt(exact.var(-1, keepdims=True) + 1e-6)
    np.testing.assert_allclose(jax.jit(_layer_norm)(pool), exact, atol=0.01)
    differentiate = jax.jit(jax.value_and_grad(lambda p: jnp.sum(_layer_norm(p) ** 2)))
    for empty in (np.zeros(198, np.float32), np.full(198, 3.0, np.float32)):
        value, gradient = differentiate(empty)
        assert value < 1e-3
        assert np.isfinite(gradient).all()


def test_reader_sees_the_input_only_if_asked():
    xs = jnp.zeros((1, 4)).at[0, 0].set(1.0)
    for read_input in (True, False):
        memory = build(read_input=read_input, activation=lambda x: x)
        memory = eqx.tree_at(lambda m: m.reader.viewports, memory, replace_fn=jnp.zeros_like)
        _, ys = unroll(memory, xs)
        assert np.any(ys) == read_input


def test_projection_link_starts_as_the_papers_model():
    xs = draw(40, 4)
    plain, linked = (build(link=link) for link in (None, Projection(4, 3)))
    linked = eqx.tree_at(lambda m: m.reader, linked, plain.reader)
    ours, theirs = (unroll(memory, xs) for memory in (linked, plain))
    np.testing.assert_allclose(ours[0], theirs[0], atol=1e-12)
    np.testing.assert_allclose(ours[1], theirs[1], atol=1e-12)


def test_orthonormal_links_are_orthonormal_and_fixed():
    link = OrthonormalTanh(4, 3, key=jax.random.key(3))
    memory = build(link=link, gradient_pools=3)
    for matrix in np.asarray(link.matrices):
        np.testing.assert_allclose(matrix @ matrix.T, np.eye(4), atol=1e-12)
    state, xs, _ = sample(memory, 10, 0)
    gradient = eqx.filter_jit(eqx.filter_grad(lambda m: weigh(m.unroll(state, xs))))(memory)
    assert not gradient.filters.link.matrices.any()
    assert gradient.write.any()


def test_a_closed_gate_holds_its_pool():
    memory = build(link=Gate(4, 3))
    closed = eqx.tree_at(
        lambda m: m.filters.link.biases, memory, replace_fn=lambda b: jnp.full_like(b, -1e9)
    )
    state, xs, _ = sample(closed, 20, 0)
    state, (last, _) = jax.device_get((state, unroll(closed, xs, state)))
    np.testing.assert_array_equal(last[1:], state[1:])
    assert np.any(last[0] != state[0])


def test_the_chain_commutes_with_linear_maps():
    """m(f(x)) = f(m(x)): section 4.2 of the paper."""
    matrix = np.random.default_rng(2).standard_normal((4, 4))
    xs = np.asarray(draw(40, 4))
    chain = PoolChain(4, rates(2.0, 3))
    _, mapped_first = unroll(chain, xs @ matrix.T)
    _, pools = unroll(chain, xs)
    np.testing.assert_allclose(mapped_first, np.asarray(pools) @ matrix.T, atol=1e-12)
