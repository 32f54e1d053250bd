"""A module of `longpass.torch` is the same function as the memory of `longpass.memory`."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
import torch

import longpass.memory
import longpass.torch
from tests.torch.zoo import (
    NAMES,
    assert_close,
    build,
    build_jax,
    differentiate,
    named_arrays,
    sample,
    to_jax,
    to_torch,
)

# Long enough for several chunks, with starts in the middle.
LENGTH = 53


def run_jax(memory, x, state, starts, block_every, weights):
    """Outputs, states and gradients in (x, state, parameters), in the layout of PyTorch."""
    arrays, static = eqx.partition(memory, eqx.is_array)

    @jax.jit
    def run(arrays, x, state):
        def unroll(arrays, x, state):
            memory = eqx.combine(arrays, static)
            states, ys = memory.unroll_batch(state.swapaxes(0, 1), x, starts, block_every)
            return ys, states.swapaxes(0, 1)

        results, pull = jax.vjp(unroll, arrays, x, state)
        return results, pull(weights)

    results, (arrays, x, state) = run(arrays, x, state)
    return results, (x, state, named_arrays(arrays))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "length", "with_starts", "block_every"),
    [
        (torch.float64, LENGTH, True, None),
        (torch.float64, LENGTH, False, 4),
        (torch.float64, LENGTH, True, 3),
        (torch.float64, 1, True, None),
        # Each of length, starts and blocks in single precision too.
        (torch.float32, LENGTH, False, 4),
        (torch.float32, 1, True, None),
    ],
)
@pytest.mark.parametrize("name", NAMES)
def test_outputs_states_and_gradients(name, dtype, length, with_starts, block_every):
    x, state, starts = sample(name, length, dtype=dtype)
    given = starts if with_starts else None
    module = build(name, dtype)

    def call(module, x, state):
        return module(x, state, given, block_every=block_every)

    (ys, last), (dx, dstate, *grads) = differentiate(call, module, x, state)
    draw = torch.Generator().manual_seed(9)
    weights = tuple(
        to_jax(torch.randn(one.shape, generator=draw, dtype=dtype)) for one in (ys, last)
    )
    memory = build_jax(name, jnp.float64 if dtype == torch.float64 else jnp.float32)
    jax_starts = None if given is None else jnp.asarray(given.numpy())
    results, (jax_dx, jax_dstate, jax_grads) = run_jax(
        memory, to_jax(x), to_jax(state), jax_starts, block_every, weights
    )
    ours = [ys, last, dx, dstate, *grads]
    names = [key for key, _ in module.named_parameters()]
    assert sorted(names) == sorted(jax_grads)
    theirs = [*results, jax_dx, jax_dstate, *(jax_grads[key] for key in names)]
    assert_close(ours, [to_torch(one) for one in theirs], 1e-9 if dtype == torch.float64 else 1e-4)


@pytest.mark.parametrize("name", ["concrete", "parallel"])
def test_initial_weights_have_the_same_distribution(name):
    """Of one distribution in both: written exactly, drawn with equal deviation and bounds."""
    sizes = {"num_pools": 8, "pool_size": 200, "viewport_size": 40}
    kind = "Parallel" if name == "parallel" else "Concrete"
    torch.manual_seed(0)
    memory = getattr(longpass.memory, kind)(50, 100, **sizes, key=jax.random.key(0))
    module = getattr(longpass.torch, kind)(50, 200, output_size=100, viewport_size=40)
    for key, ours in module.named_parameters():
        theirs = to_torch(named_arrays(memory)[key])
        assert ours.shape == theirs.shape
        if "bias" in key or key == "write":
            assert torch.equal(ours, theirs)
        else:
            for statistic in (torch.std, lambda one: one.abs().max()):
                ratio = statistic(ours.detach()) / statistic(theirs)
                assert 0.93 < ratio < 1.07, key


def test_the_number_of_pools_for_a_horizon():
    for kind in ("Concrete", "Parallel"):
        for horizon in (1, 30, 300):
            memory = eqx.filter_eval_shape(
                getattr(longpass.memory, kind).for_horizon,
                3,
                horizon=horizon,
                base=1.5,
                key=jax.random.key(0),
            )
            module = getattr(longpass.torch, kind).for_horizon(3, 4, horizon=horizon, base=1.5)
            assert module.num_pools == memory.num_pools
            assert module.rates == memory.filters.rates
            pair = getattr(longpass.torch, kind).for_horizon(3, 4, horizon, base=1.5, state="lstm")
            assert pair.num_pools in (memory.num_pools, memory.num_pools + 1)
