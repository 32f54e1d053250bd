"""Laws that hold for every module, about outputs, states and gradients alike.

They are the laws of `tests/memory/test_laws.py`, and those of the layouts of nn.GRU.
"""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pack_sequence

from longpass.torch import Concrete, PoolChain
from tests.torch.zoo import NAMES, OPTIONS, assert_close, build, differentiate, sample

# Long enough for several chunks, the last of them ragged.
LENGTH = 53
every_module = pytest.mark.parametrize("name", NAMES)
every_cell = pytest.mark.parametrize("name", OPTIONS)


def run(name, block_every=None, starts=None, **more):
    """A module and a call of it on (x, state)."""
    return build(name, **more), lambda module, x, state: module(
        x, state, starts, block_every=block_every
    )


@every_cell
@settings(max_examples=4)
@given(seed=st.integers(0, 2**16), chance=st.floats(0, 1), block=st.sampled_from([None, 1, 4]))
def test_a_sequence_is_its_steps(name, seed, chance, block):
    x, state, starts = sample(name, LENGTH, seed, chance=chance)
    cell = build(name, cell=True)

    def step(cell, x, state):
        ys = []
        for t in range(LENGTH):
            if block and t and t % block == 0:
                state = state.detach()
            y, state = cell(x[t], state, starts[t])
            ys.append(y)
        return torch.stack(ys), state

    module, call = run(name, block, starts)
    assert_close(differentiate(call, module, x, state), differentiate(step, cell, x, state))


@every_module
@settings(max_examples=4)
@given(cut=st.integers(1, LENGTH - 1), seed=st.integers(0, 2**16))
def test_cut_and_carried_on_is_whole(name, cut, seed):
    x, state, starts = sample(name, LENGTH, seed)

    def in_two(module, x, state):
        first, state = module(x[:cut], state, starts[:cut])
        second, state = module(x[cut:], state, starts[cut:])
        return torch.cat([first, second]), state

    module, call = run(name, None, starts)
    assert_close(differentiate(call, module, x, state), differentiate(in_two, module, x, state))


@every_module
@settings(max_examples=4)
@given(cut=st.integers(1, LENGTH - 1), seed=st.integers(0, 2**16))
def test_two_sequences_in_one_are_two(name, cut, seed):
    """Nothing passes a start: neither contents, nor gradients, nor a NaN."""
    x, state, _ = sample(name, LENGTH, seed)
    starts = torch.zeros(LENGTH, 3, dtype=torch.bool)
    starts[cut] = True
    module, call = run(name, None, starts)

    def separate(module, x, state):
        first, _ = module(x[:cut], state)
        second, last = module(x[cut:])
        return torch.cat([first, second]), last

    assert_close(differentiate(call, module, x, state), differentiate(separate, module, x, state))
    y, last = module(x, state, starts)
    lost = x.clone()
    lost[:cut] = torch.nan
    y_lost, last_lost = module(lost, state, starts)
    assert torch.equal(y[cut:], y_lost[cut:])
    assert torch.equal(last, last_lost)


@every_module
def test_start_states_begin_sequences(name):
    """Each sequence of a batch starts at its own step, from a state of its own."""
    x, state, _ = sample(name, LENGTH)
    _, begins, _ = sample(name, LENGTH, seed=5)
    cuts = (0, 20, 33)
    starts = torch.zeros(LENGTH, 3, dtype=torch.bool)
    states = torch.full((LENGTH, 3, 4, state.shape[-1]), torch.nan, dtype=x.dtype)
    for column, cut in enumerate(cuts):
        starts[cut, column] = True
        states[cut, column] = begins[:, column]
    module = build(name)

    def together(module, x, state):
        return module(x, state, starts, states)

    def separate(module, x, state):
        ys, lasts = [], []
        for column, cut in enumerate(cuts):
            one = x[:, column : column + 1]
            ys.append(module(one[:cut], state[:, column : column + 1])[0] if cut else one[:0])
            second, last = module(one[cut:], begins[:, column : column + 1])
            ys[-1] = torch.cat([ys[-1], second]) if cut else second
            lasts.append(last)
        return torch.cat(ys, dim=1), torch.cat(lasts, dim=1)

    assert_close(
        differentiate(together, module, x, state), differentiate(separate, module, x, state)
    )


@every_module
@pytest.mark.parametrize("with_starts", [False, True])
def test_blocking_changes_no_output_and_cuts_gradients(name, with_starts):
    x, state, starts = sample(name, LENGTH)
    given_starts = starts if with_starts else None
    module, free = run(name, None, given_starts)

    def by_hand(module, x, state):
        ys = []
        for begin in range(0, LENGTH, 4):
            state = state.detach() if begin else state
            here = slice(begin, begin + 4)
            y, state = module(x[here], state, None if given_starts is None else starts[here])
            ys.append(y)
        return torch.cat(ys), state

    _, blocked = run(name, 4, given_starts)
    (outputs, _), (whole, _) = (differentiate(one, module, x, state) for one in (blocked, free))
    assert all(torch.equal(one, other) for one, other in zip(outputs, whole, strict=True))
    assert_close(differentiate(blocked, module, x, state), differentiate(by_hand, module, x, state))


@every_cell
def test_gradients_pass_through_the_fastest_pools_only(name):
    x, state, starts = sample(name, LENGTH)
    state.requires_grad_()
    module = build(name)
    y, last = module(x, state, starts & False)
    (grad,) = torch.autograd.grad(
        y.sum() + last.sum(), state, allow_unused=True, materialize_grads=True
    )
    live = module.gradient_pools
    assert (grad[:live] != 0).all()
    assert (grad[live:] == 0).all()


@every_module
def test_batch_first_and_unbatched(name):
    x, state, starts = sample(name, LENGTH)
    y, last = build(name)(x, state, starts)
    y_first, last_first = build(name, batch_first=True)(
        x.transpose(0, 1), state, starts.transpose(0, 1)
    )
    assert_close([y_first.transpose(0, 1), last_first], [y, last])
    one, one_last = build(name)(x[:, 1], state[:, 1], starts[:, 1])
    assert_close([one, one_last], [y[:, 1], last[:, 1]])


@every_module
def test_a_pair_of_states_is_one_state(name):
    x, state, starts = sample(name, LENGTH)
    module, pair = build(name), build(name, state="lstm")
    assert (module.num_layers, pair.num_layers, pair.num_pools) == (4, 2, 4)

    def split(pair, x, state):
        y, (h, c) = pair(x, (state[:2], state[2:]), starts)
        assert h.shape == c.shape == (pair.num_layers, 3, pair.hidden_size)
        return y, torch.cat([h, c])

    def whole(module, x, state):
        return module(x, state, starts)

    assert_close(differentiate(split, pair, x, state), differentiate(whole, module, x, state))


@every_module
@pytest.mark.parametrize("sort", [False, True])
def test_a_packed_sequence_is_its_sequences(name, sort):
    lengths = [40, 21, 21] if sort else [21, 40, 1]
    x, state, _ = sample(name, 40)
    module = build(name)

    def packed(module, x, state):
        given = pack_padded_sequence(x, torch.tensor(lengths), enforce_sorted=sort)
        y, last = module(given, state)
        assert isinstance(y, PackedSequence)
        assert torch.equal(y.batch_sizes, given.batch_sizes)
        return y.data, last

    def separate(module, x, state):
        results = [
            module(x[:length, place : place + 1], state[:, place : place + 1])
            for place, length in enumerate(lengths)
        ]
        ys = pack_sequence([y[:, 0] for y, _ in results], enforce_sorted=sort)
        return ys.data, torch.cat([last for _, last in results], dim=1)

    assert_close(differentiate(packed, module, x, state), differentiate(separate, module, x, state))


@pytest.mark.parametrize("name", ["concrete", "concrete, layer", "chain"])
def test_no_step_is_no_change(name):
    x, state, _ = sample(name, 0)
    y, last = build(name)(x, state)
    assert y.shape[:2] == (0, 3)
    assert torch.equal(last, state)


def test_integers_and_bools_are_inputs():
    module = Concrete(5, 4)
    x = torch.eye(5)[torch.arange(12) % 5].unsqueeze(1)
    for dtype in (torch.int64, torch.bool):
        assert torch.equal(module(x.to(dtype))[0], module(x)[0])
    assert PoolChain(5, [0.5])(x.long())[0].dtype == torch.float32


def test_frozen_pools_are_not_kept():
    """What is kept for the backward pass does not grow with the number of frozen pools."""

    def count_kept(num_layers):
        sizes = []
        module = Concrete(8, 64, num_layers, viewport_size=1)
        with torch.autograd.graph.saved_tensors_hooks(
            lambda kept: sizes.append(kept.numel()) or kept, lambda kept: kept
        ):
            module(torch.ones(100, 4, 8))
        return sum(sizes)

    one_pool = 100 * 4 * 64
    assert count_kept(12) - count_kept(4) < one_pool
