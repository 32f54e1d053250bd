"""Laws that hold for every memory and every form of its unroll: see `AbstractMemory`.

Each law is about outputs and gradients alike: `differentiate(form)` gives both. Nearly all time
goes into compiling, so laws share their programs, and NumPy does what is outside of them.
"""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longpass.memory import AbstractMemory, plain_unroll
from tests.memory.zoo import FORMS, MEMORIES, build, draw_normal, sample, unroll

# Long enough for several chunks and stretches, the last of them ragged. Short unrolls are compiled
# without a loop.
LONG, SHORT = 153, 3
# (length, starts or not, block_every): few, so that each program is compiled once and then runs on
# many draws.
CASES = ((LONG, True, 3), (LONG, False, 40), (SHORT, True, 2))


def _in_one_process(name, *values):
    """All tests of a memory run in one process, which keeps its compiled programs."""
    return pytest.param(name, *values, marks=pytest.mark.xdist_group(name))


every_memory = pytest.mark.parametrize("name", [_in_one_process(name) for name in MEMORIES])
every_form = pytest.mark.parametrize(
    ("name", "form"), [_in_one_process(name, form) for name in MEMORIES for form in FORMS[name]]
)


@functools.cache
def differentiate(form, block_every):
    """`form` as a jitted function to ((state, outputs), gradients in (memory, state, inputs)).

    Gradients are those of `weights`, like (state, outputs), times outputs. All are NumPy arrays.
    """

    @eqx.filter_jit
    def run(memory, state, xs, starts, weights):
        arrays, static = eqx.partition(memory, eqx.is_array)

        def of(arrays, state, xs):
            return form(eqx.combine(arrays, static), state, xs, starts, block_every)

        out, pull = jax.vjp(of, arrays, state, xs)
        return out, pull(weights)

    return lambda *args: jax.device_get(run(*args))


def weights_for(memory, length, seed=0):
    """Random weights of the state after `length` steps and of the outputs."""
    state, _, _ = sample(memory, 1, seed + 1000)
    rng = np.random.default_rng(seed + 2000)
    return state, draw_normal(rng, (length, *memory.output_shape), memory.dtype)


def assert_close(ours, theirs, tolerance=1e-9):
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert one.shape == other.shape
        assert one.dtype == other.dtype
        scale = np.max(np.abs(other), initial=1.0)
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance * scale)


def assert_equal(ours, theirs):
    assert jax.tree.all(jax.tree.map(np.array_equal, ours, theirs))


def add(*trees):
    return jax.tree.map(lambda *leaves: sum(leaves), *trees)


def stack(*trees):
    return jax.tree.map(lambda *leaves: np.stack(leaves), *trees)


def mark(*steps):
    """Starts at some of `LONG` steps."""
    starts = np.zeros(LONG, bool)
    starts[list(steps)] = True
    return starts


def check_against_plain(memory, form, case, seed, chance, tolerance):
    length, with_starts, block_every = case
    state, xs, starts = sample(memory, length, seed, chance)
    args = (memory, state, xs, starts if with_starts else None, weights_for(memory, length, seed))
    ours, plain = (differentiate(one, block_every)(*args) for one in (form, plain_unroll))
    assert_close(ours, plain, tolerance)


def test_an_unroll_batch_of_its_own_is_a_form():
    for name in MEMORIES:
        own = type(build(name)).unroll_batch is not AbstractMemory.unroll_batch
        assert own == ("batch" in FORMS[name]), name


@every_form
@given(case=st.sampled_from(CASES), seed=st.integers(0, 2**16), chance=st.floats(0, 1))
def test_every_form_is_the_plain_scan(name, form, case, seed, chance):
    check_against_plain(build(name), FORMS[name][form], case, seed, chance, 1e-9)


@every_form
@settings(max_examples=3)
@given(seed=st.integers(0, 2**16))
def test_every_form_is_the_plain_scan_in_single_precision(name, form, seed):
    memory = build(name, jnp.float32)
    check_against_plain(memory, FORMS[name][form], CASES[0], seed, 0.1, 1e-4)


@every_memory
def test_the_plain_scan_is_a_loop_over_step(name):
    memory = build(name)

    def loop(memory, state, xs, starts, block_every):
        ys = []
        for t, x in enumerate(xs):
            if t and t % block_every == 0:
                state = jax.lax.stop_gradient(state)
            state, y = memory.step(state, x, starts[t])
            ys.append(y)
        return state, jnp.stack(ys)

    state, xs, _ = sample(memory, 5, 0)
    starts = jnp.array([False, False, False, True, False])
    args = (memory, state, xs, starts, weights_for(memory, 5))
    assert_close(differentiate(plain_unroll, 2)(*args), differentiate(loop, 2)(*args))


@every_memory
def test_block_every_is_stopping_by_hand(name):
    """Unrolls of `block_every` steps, each begun from a state that passes no gradient."""
    memory = build(name)

    def by_hand(memory, state, xs, starts, block_every):
        def block(state, inputs):
            return plain_unroll(memory, jax.lax.stop_gradient(state), *inputs)

        count = LONG // block_every - 1
        state, first = plain_unroll(memory, state, xs[:block_every], starts[:block_every])
        rest = (xs[block_every:].reshape(count, block_every, -1),)
        rest += (starts[block_every:].reshape(count, block_every),)
        state, ys = jax.lax.scan(block, state, rest)
        return state, jnp.concatenate([first, ys.reshape(-1, *memory.output_shape)])

    args = (memory, *sample(memory, LONG, 3), weights_for(memory, LONG))
    assert_close(differentiate(plain_unroll, 3)(*args), differentiate(by_hand, 3)(*args))


@every_form
@settings(max_examples=3)
@given(cut=st.integers(1, LONG // 3 - 1).map(lambda block: 3 * block), seed=st.integers(0, 2**16))
def test_packed_is_separate(name, form, cut, seed):
    """Two sequences in one unroll give what each gives alone: nothing passes a start."""
    memory = build(name)
    run = differentiate(FORMS[name][form], 3)
    state, xs, _ = jax.device_get(sample(memory, LONG, seed))
    _, weights = jax.device_get(weights_for(memory, LONG, seed))
    empty = memory.initial_state()

    def pad(array):
        """Moved to the beginning; what comes behind the end has no weight."""
        return np.concatenate([array[cut:], np.zeros_like(array[:cut])])

    before = (np.arange(LONG) < cut).reshape(-1, *(1,) * (weights.ndim - 1))
    packed, together = run(memory, state, xs, mark(cut), (empty, weights))
    first, one = run(memory, state, xs, mark(), (empty, np.where(before, weights, 0)))
    second, other = run(memory, empty, pad(xs), mark(), (empty, pad(weights)))
    assert_close(packed[1][:cut], first[1][:cut])
    assert_close(packed[1][cut:], second[1][: LONG - cut])
    assert_close(together[0], add(one[0], other[0]))
    assert_close(together[1], one[1])
    assert_close(together[2][:cut], one[2][:cut])
    assert_close(together[2][cut:], other[2][: LONG - cut])


@every_form
def test_start_at_the_first_step_clears_the_state_given(name, form):
    memory = build(name)
    run = differentiate(FORMS[name][form], 3)
    state, xs, _ = sample(memory, LONG, 1)
    weights = weights_for(memory, LONG)
    cleared, gradients = run(memory, state, xs, mark(0), weights)
    empty, expected = run(memory, memory.initial_state(), xs, mark(), weights)
    assert_close(cleared, empty)
    assert_close((gradients[0], gradients[2]), (expected[0], expected[2]))
    assert all(not leaf.any() for leaf in jax.tree.leaves(gradients[1]))


@every_form
def test_block_every_leaves_outputs_equal_to_the_bit(name, form):
    memory, unrolled = build(name), FORMS[name][form]
    args = (memory, *sample(memory, LONG, 2))

    @eqx.filter_jit
    def both(*args):
        return unrolled(*args, None), unrolled(*args, 3)

    free, blocked = both(*args)
    assert_equal(blocked, free)
    weights = weights_for(memory, LONG)
    free, blocked = (differentiate(unrolled, m)(*args, weights)[0] for m in (None, 3))
    assert_equal(blocked, free)


@every_memory
def test_unrolls_one_after_the_other_are_one_unroll(name):
    """Other forms are the plain scan from any state, so this holds for them too."""
    memory = build(name)

    def pieces(memory, state, xs, starts, block_every):
        out = []
        for begin, end in ((0, 1), (1, 34), (34, LONG)):
            state, ys = memory.unroll(state, xs[begin:end], starts[begin:end], block_every)
            out.append(ys)
        return state, jnp.concatenate(out)

    args = (memory, *sample(memory, LONG, 7), weights_for(memory, LONG))
    assert_close(differentiate(pieces, None)(*args), differentiate(unroll, None)(*args))


@every_form
def test_vmap_is_a_loop(name, form):
    """Outputs of a batch are those of its examples; gradients in parameters are their sum."""
    memory, unrolled = build(name), FORMS[name][form]
    axes = (None, 0, 0, 0, None)
    cases = [sample(memory, LONG, seed) for seed in range(2)]
    weights = [weights_for(memory, LONG, seed) for seed in range(2)]

    def batch(*args):
        return jax.vmap(unrolled, in_axes=axes)(*args)

    states, xs, starts = stack(*cases)
    ys, together = differentiate(batch, 3)(memory, states, xs, starts, stack(*weights))
    run = differentiate(unrolled, 3)
    alone = [run(memory, *case, one) for case, one in zip(cases, weights, strict=True)]
    assert_close(ys, stack(*(out for out, _ in alone)))
    assert_close(together[0], add(*(gradients[0] for _, gradients in alone)))
    assert_close(together[1:], stack(*(gradients[1:] for _, gradients in alone)))


@pytest.mark.parametrize(
    ("name", "with_starts", "block_every"),
    [_in_one_process(name, True, 4) for name in MEMORIES]
    # Without starts is another path only where `unroll_batch` is not inherited.
    + [_in_one_process(name, False, None) for name in MEMORIES if "batch" in FORMS[name]],
)
def test_unroll_batch_is_vmap_of_unroll(name, with_starts, block_every):
    memory = build(name)
    cases = [sample(memory, 11, seed) for seed in range(3)]
    states, xs, starts = stack(*cases)
    # Weights of outputs have time in front, as the outputs of a batch have.
    last, ys = stack(*(weights_for(memory, 11, seed) for seed in range(3)))
    weights = last, ys.swapaxes(0, 1)
    args = (memory, states, xs.swapaxes(0, 1), starts.T if with_starts else None, weights)

    def mapped(memory, states, xs, starts, block_every):
        one = functools.partial(memory.unroll, block_every=block_every)
        return jax.vmap(one, in_axes=(0, 1, 1), out_axes=(0, 1))(states, xs, starts)

    def batched(memory, *args):
        return memory.unroll_batch(*args)

    ours, theirs = (differentiate(form, block_every)(*args) for form in (batched, mapped))
    assert_close(ours, theirs)


@every_memory
def test_calling_a_memory_is_unroll(name):
    memory = build(name)
    args = (memory, *sample(memory, SHORT, 9), weights_for(memory, SHORT))

    def call(memory, *args):
        return memory(*args)

    assert_equal(differentiate(call, 2)(*args), differentiate(unroll, 2)(*args))


@every_memory
def test_integers_and_bools_are_cast(name):
    memory = build(name)
    state, xs, starts = sample(memory, SHORT, 10)

    @eqx.filter_jit
    def run(memory, xs):
        def loss(memory):
            after, ys = memory.unroll(state, xs, starts)
            one, y = memory.step(state, xs[0], starts[0])
            many = memory.unroll_batch(
                jax.tree.map(lambda leaf: leaf[None], state), xs[:, None], starts[:, None]
            )
            return jnp.sum(ys**2), (after, ys, one, y, many)

        return eqx.filter_value_and_grad(loss, has_aux=True)(memory)

    above = np.asarray(xs) > 0
    expected = run(memory, above.astype(memory.dtype))
    for dtype in (np.uint8, np.bool_):
        assert_equal(run(memory, above.astype(dtype)), expected)


@every_memory
def test_the_initial_state_is_what_a_start_leaves_for_every_batch(name):
    memory = build(name, jnp.float32)
    single = memory.initial_state()
    assert not any(leaf.any() for leaf in jax.tree.leaves(single))
    for batch_shape in ((2,), (3, 2)):
        states = memory.initial_state(batch_shape)
        assert jax.tree.structure(states) == jax.tree.structure(single)
        for leaf, one in zip(jax.tree.leaves(states), jax.tree.leaves(single), strict=True):
            assert leaf.shape == (*batch_shape, *one.shape)
            assert leaf.dtype == one.dtype == jnp.float32
            assert not leaf.any()


@every_memory
def test_forward_mode_agrees_with_reverse_mode(name):
    memory = build(name)
    state, xs, starts = sample(memory, 32, 4)
    weights = weights_for(memory, 32)

    def value(xs):
        return sum(
            jnp.vdot(weight, leaf)
            for weight, leaf in zip(
                jax.tree.leaves(weights),
                jax.tree.leaves(memory.unroll(state, xs, starts, 5)),
                strict=True,
            )
        )

    direction = np.cos(np.arange(xs.size, dtype=xs.dtype)).reshape(xs.shape)

    @jax.jit
    def both(xs):
        forward = jax.jvp(value, (xs,), (direction,))[1]
        return forward, jnp.vdot(jax.grad(value)(xs), direction)

    forward, reverse = both(xs)
    np.testing.assert_allclose(forward, reverse, rtol=1e-9)


@every_form
def test_no_step_changes_nothing(name, form):
    memory = build(name)
    state, xs, starts = sample(memory, 0, 5)

    @eqx.filter_jit
    def run(memory, state, xs, starts):
        return [FORMS[name][form](memory, state, xs, *more) for more in ((None, None), (starts, 3))]

    for after, ys in run(memory, state, xs, starts):
        assert_equal(after, state)
        assert ys.shape == (0, *memory.output_shape)


@every_memory
def test_states_are_plain_arrays_that_can_be_saved(name, tmp_path):
    memory = build(name, jnp.float32)
    state, xs, _ = sample(memory, 10, 6)
    xs, run = np.asarray(xs), eqx.filter_jit(unroll)
    middle, _ = run(memory, state, xs[:5], None, None)
    eqx.tree_serialise_leaves(tmp_path / "state.eqx", middle)
    read = eqx.tree_deserialise_leaves(tmp_path / "state.eqx", memory.initial_state())
    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(read))
    resumed, straight = (run(memory, state, xs[5:], None, None) for state in (read, middle))
    assert_equal(resumed, straight)
    assert all(leaf.dtype == jnp.float32 for leaf in jax.tree.leaves(resumed))
    assert resumed[1].shape[1:] == memory.output_shape
