"""Laws that hold for every memory: see `AbstractMemory`."""

import functools
import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longpass.memory import _linear, _reading, plain_unroll
from tests.memory.zoo import MEMORIES, sample, weigh

# Long enough for every form: several chunks and stretches, the last of them ragged.
LONG = 153
# (length, starts or not, block_every): few, so that each program is compiled once and then runs on
# many draws.
CASES = ((LONG, True, 3), (LONG, False, 40), (32, False, None))
# All tests of a memory run in one process, which keeps its compiled programs.
everywhere = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in MEMORIES]
)


@pytest.fixture(autouse=True)
def short_stretches(monkeypatch):
    """Small pools could be held for long: let LONG be many stretches all the same."""
    monkeypatch.setattr(_reading, "AT_ONCE", 0)
    monkeypatch.setattr(_reading, "HELD", 0)


@functools.cache
def build(name, dtype=jnp.float64):
    return MEMORIES[name](dtype)


@functools.cache
def differentiated(form, block_every):
    """`form` as a jitted function to (state and outputs, gradients in memory, state and inputs)."""

    @eqx.filter_jit
    def run(memory, state, xs, starts):
        def loss(args):
            out = form(*args, starts, block_every)
            return weigh(out), out

        (_, out), gradients = eqx.filter_value_and_grad(loss, has_aux=True)((memory, state, xs))
        return out, gradients

    return run


def fast_unroll(memory, *args):
    return memory.unroll(*args)


unroll = eqx.filter_jit(fast_unroll)


def unroll_by_steps(memory, state, xs, starts, block_every):
    ys = []
    for t, x in enumerate(xs):
        if block_every and t and t % block_every == 0:
            state = jax.lax.stop_gradient(state)
        state, y = memory.step(state, x, False if starts is None else starts[t])
        ys.append(y)
    return state, jnp.stack(ys)


def assert_close(ours, theirs, tolerance=1e-9):
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert one.shape == other.shape
        assert one.dtype == other.dtype
        scale = np.max(np.abs(other), initial=1.0)
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance * scale)


@everywhere
@given(case=st.sampled_from(CASES), seed=st.integers(0, 2**16), chance=st.floats(0, 1))
def test_fast_form_is_plain_scan(name, case, seed, chance):
    assert_fast_is_plain(build(name), case, seed, chance, 1e-9)


@everywhere
@settings(max_examples=3)
@given(seed=st.integers(0, 2**16))
def test_fast_form_is_plain_scan_in_single_precision(name, seed):
    assert_fast_is_plain(build(name, jnp.float32), CASES[0], seed, 0.1, 1e-4)


def assert_fast_is_plain(memory, case, seed, chance, tolerance):
    length, with_starts, block_every = case
    state, xs, starts = sample(memory, length, seed, chance)
    starts = starts if with_starts else None
    plain = differentiated(plain_unroll, block_every)(memory, state, xs, starts)
    fast = differentiated(fast_unroll, block_every)(memory, state, xs, starts)
    assert_close(fast, plain, tolerance)


@pytest.mark.parametrize("name", ["chain", "concrete", "concrete, layer", "parallel"])
def test_forms_of_accelerators_are_plain_scan(name, monkeypatch):
    """Elsewhere than on a CPU other forms are chosen: they must be as right."""
    for module in (_linear, _reading):
        monkeypatch.setattr(module, "on_cpu", lambda: False)
    memory = build(name)
    for length, with_starts, block_every in CASES:
        state, xs, starts = sample(memory, length, 0)
        starts = starts if with_starts else None
        fast = differentiated.__wrapped__(fast_unroll, block_every)(memory, state, xs, starts)
        plain = differentiated(plain_unroll, block_every)(memory, state, xs, starts)
        assert_close(fast, plain)


@everywhere
def test_plain_scan_is_steps(name):
    memory = build(name)
    state, xs, _ = sample(memory, 5, 0)
    starts = jnp.array([False, False, False, True, False])
    assert_close(
        differentiated(plain_unroll, 2)(memory, state, xs, starts),
        differentiated(unroll_by_steps, 2)(memory, state, xs, starts),
    )


@everywhere
@given(cut=st.integers(1, LONG - 1), seed=st.integers(0, 2**16))
def test_packed_is_separate(name, cut, seed):
    """What was before a start leaves no trace: two sequences in one unroll are as each alone."""
    memory = build(name)
    state, xs, _ = sample(memory, LONG, seed)
    _, ys = unroll(memory, state, xs, jnp.zeros(LONG, bool).at[cut].set(True))
    _, first = unroll(memory, state, xs)
    # Padded to one length behind its end: a memory cannot look ahead.
    alone = jnp.concatenate([xs[cut:], jnp.ones_like(xs[:cut])])
    _, second = unroll(memory, memory.initial_state(), alone)
    assert_close(ys[:cut], first[:cut])
    assert_close(ys[cut:], second[: LONG - cut])


@everywhere
def test_start_at_first_step_clears_the_state_given(name):
    memory = build(name)
    state, xs, _ = sample(memory, LONG, 1)
    starts = jnp.zeros(LONG, bool).at[0].set(True)
    cleared, gradients = differentiated(fast_unroll, 3)(memory, state, xs, starts)
    assert_close(cleared, unroll(memory, memory.initial_state(), xs))
    assert all(not leaf.any() for leaf in jax.tree.leaves(gradients[1]))


@everywhere
@pytest.mark.parametrize(("cuts", "with_starts"), [((1,), False), ((33,), True)])
def test_any_chunking_is_the_whole(name, cuts, with_starts):
    memory = build(name)
    state, xs, starts = sample(memory, LONG, 7)
    starts = starts if with_starts else None
    whole = unroll(memory, state, xs, starts)
    parts, edges = [], [0, *cuts, LONG]
    for begin, end in itertools.pairwise(edges):
        piece = None if starts is None else starts[begin:end]
        state, ys = unroll(memory, state, xs[begin:end], piece)
        parts.append(ys)
    assert_close((state, jnp.concatenate(parts)), whole)


@everywhere
@pytest.mark.parametrize("with_starts", [False, True])
def test_block_every_leaves_outputs_equal_to_the_bit(name, with_starts):
    memory = build(name, jnp.float32)
    state, xs, starts = sample(memory, LONG, 2)
    starts = starts if with_starts else None
    outputs = [unroll(memory, state, xs, starts, m) for m in (None, 3)]
    in_training = [differentiated(fast_unroll, m)(memory, state, xs, starts)[0] for m in (None, 3)]
    for family in (outputs, in_training):
        for other in family[1:]:
            assert jax.tree.all(jax.tree.map(jnp.array_equal, other, family[0]))


@everywhere
@pytest.mark.parametrize(("block_every", "with_starts"), [(40, False), (3, True)])
def test_block_every_cuts_what_stopping_by_hand_cuts(name, block_every, with_starts):
    """Unrolls of `block_every` steps, each begun from a state that passes no gradient."""
    memory = build(name)
    state, xs, starts = sample(memory, LONG, 3)

    def by_hand(memory, state, xs, starts, block_every):
        parts = []
        # A Python loop over few blocks, and a scan over blocks of 3: LONG is 51 of them.
        if block_every == 3:

            def block(state, inputs):
                return plain_unroll(memory, jax.lax.stop_gradient(state), *inputs)

            state, first = plain_unroll(memory, state, xs[:3], starts[:3])
            rest = (xs[3:].reshape(50, 3, -1), starts[3:].reshape(50, 3))
            state, ys = jax.lax.scan(block, state, rest)
            return state, jnp.concatenate([first, ys.reshape(150, *memory.output_shape)])
        for begin in range(0, LONG, block_every):
            if begin:
                state = jax.lax.stop_gradient(state)
            state, ys = plain_unroll(memory, state, xs[begin : begin + block_every])
            parts.append(ys)
        return state, jnp.concatenate(parts)

    starts = starts if with_starts else None
    _, ours = differentiated(fast_unroll, block_every)(memory, state, xs, starts)
    _, theirs = differentiated(by_hand, block_every)(memory, state, xs, starts)
    assert_close(ours, theirs)


@everywhere
def test_vmap_is_a_loop_and_scan_is_an_unroll(name):
    memory = build(name)
    cases = [sample(memory, 32, seed) for seed in range(3)]
    batch = jax.tree.map(lambda *leaves: jnp.stack(leaves), *cases)
    together = jax.jit(jax.vmap(memory.unroll))(*batch)
    alone = [unroll(memory, *case) for case in cases]
    assert_close(together, jax.tree.map(lambda *leaves: jnp.stack(leaves), *alone))

    state, xs, starts = cases[0]
    scanned = jax.lax.scan(
        lambda state, inputs: memory.unroll(state, *inputs),
        state,
        (xs.reshape(4, 8, -1), starts.reshape(4, 8)),
    )
    flat = scanned[1].reshape(32, *memory.output_shape)
    assert_close((scanned[0], flat), alone[0])


@everywhere
def test_gradients_of_a_batch_are_the_sum_of_gradients(name):
    memory = build(name)
    cases = [sample(memory, 32, seed) for seed in range(2)]
    batch = jax.tree.map(lambda *leaves: jnp.stack(leaves), *cases)

    def total(memory, *batch):
        return jnp.sum(jax.vmap(lambda *case: weigh(memory.unroll(*case, 5)))(*batch))

    together = eqx.filter_jit(eqx.filter_grad(total))(memory, *batch)
    single = eqx.filter_jit(eqx.filter_grad(lambda m, case: weigh(m.unroll(*case, 5))))
    alone = [single(memory, case) for case in cases]
    assert_close(together, jax.tree.map(lambda a, b: a + b, *alone))


@everywhere
def test_forward_mode_agrees_with_reverse_mode(name):
    memory = build(name)
    state, xs, starts = sample(memory, 32, 4)

    def loss(xs):
        return weigh(memory.unroll(state, xs, starts, 5))

    direction = jnp.cos(jnp.arange(xs.size, dtype=xs.dtype)).reshape(xs.shape)
    forward = jax.jit(lambda xs: jax.jvp(loss, (xs,), (direction,))[1])(xs)
    reverse = jnp.vdot(jax.jit(jax.grad(loss))(xs), direction)
    np.testing.assert_allclose(forward, reverse, rtol=1e-9)


@everywhere
def test_no_step_changes_nothing(name):
    memory = build(name)
    state, xs, starts = sample(memory, 0, 5)
    for args in ((xs,), (xs, starts), (xs, starts, 3)):
        after, ys = memory.unroll(state, *args)
        assert jax.tree.all(jax.tree.map(jnp.array_equal, after, state))
        assert ys.shape == (0, *memory.output_shape)


@everywhere
def test_states_are_plain_arrays_that_can_be_saved(name, tmp_path):
    memory = build(name, jnp.float32)
    state, xs, _ = sample(memory, 10, 6)
    middle, _ = unroll(memory, state, xs[:5])
    eqx.tree_serialise_leaves(tmp_path / "state.eqx", middle)
    read = eqx.tree_deserialise_leaves(tmp_path / "state.eqx", memory.initial_state())
    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(read))
    resumed, straight = (unroll(memory, state, xs[5:]) for state in (read, middle))
    assert jax.tree.all(jax.tree.map(jnp.array_equal, resumed, straight))
    assert all(leaf.dtype == jnp.float32 for leaf in jax.tree.leaves(resumed))
    assert resumed[1].shape[1:] == memory.output_shape
