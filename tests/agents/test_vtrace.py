"""V-trace: equal to rlax's, and exact where one rollout holds several episodes."""

import importlib.util
import sys
import warnings
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from longpass.agents import vtrace
from tests.helpers import given


@pytest.fixture(scope="module")
def theirs():
    """rlax's file alone: the whole package imports TensorFlow Probability, which takes long."""
    package = given(importlib.util.find_spec("rlax"))
    path = Path(given(package.submodule_search_locations)[0]) / "_src" / "vtrace.py"
    spec = given(importlib.util.spec_from_file_location("rlax_vtrace", path))
    module = importlib.util.module_from_spec(spec)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sys.modules["rlax_vtrace"] = module
        given(spec.loader).exec_module(module)
    return module.vtrace_td_error_and_advantage


def sample(seed, length=12, ends=()):
    """(v_tm1, v_t, r_t, discount_t, rho_tm1) of a rollout whose episodes end at `ends`."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=length + 1)
    discounts = np.full(length, 0.9)
    discounts[list(ends)] = 0.0
    rho = np.exp(rng.normal(size=length))
    return [
        jnp.asarray(x) for x in (values[:-1], values[1:], rng.normal(size=length), discounts, rho)
    ]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("lambda_", "clip_rho"), [(1.0, 1.0), (0.7, 1.0), (1.0, 3.0)])
def test_equals_rlax(theirs, seed, lambda_, clip_rho):
    inputs = sample(seed, ends=[4])
    ours = vtrace(*inputs, lambda_=lambda_, clip_rho=clip_rho)
    right = theirs(*inputs, lambda_, clip_rho, clip_rho)
    np.testing.assert_allclose(ours.targets, inputs[0] + right.errors, rtol=1e-12)
    np.testing.assert_allclose(ours.advantages, right.pg_advantage, rtol=1e-12)


def test_a_batch_is_each_alone():
    batch = [jnp.stack(leaves, axis=1) for leaves in zip(sample(0), sample(1), strict=True)]
    together = vtrace(*batch, lambda_=0.9)
    for n in range(2):
        alone = vtrace(*sample(n), lambda_=0.9)
        np.testing.assert_allclose(together.targets[:, n], alone.targets, rtol=1e-12)
        np.testing.assert_allclose(together.advantages[:, n], alone.advantages, rtol=1e-12)


@pytest.mark.parametrize("end", ["terminal", "truncated"])
@pytest.mark.parametrize("lambda_", [1.0, 0.6])
def test_episodes_in_one_rollout_are_as_each_alone(end, lambda_):
    first, second = sample(0, 7), sample(1, 5)
    if end == "terminal":
        first[3] = first[3].at[-1].set(0.0)
    alone = [vtrace(*episode, lambda_=lambda_) for episode in (first, second)]
    packed = [jnp.concatenate(parts) for parts in zip(first, second, strict=True)]
    # Only a truncated end needs a cut: behind a terminal one the discount is 0.
    cut = None if end == "terminal" else jnp.zeros(12, bool).at[6].set(True)
    if end == "terminal":
        # What stands behind the end must not matter, so let it be the next episode's value.
        packed[1] = packed[1].at[6].set(packed[0][7])
    together = vtrace(*packed, cut_t=cut, lambda_=lambda_)
    for name in ("targets", "advantages"):
        expected = np.concatenate([getattr(one, name) for one in alone])
        np.testing.assert_allclose(getattr(together, name), expected, rtol=1e-12)


def test_on_policy_targets_are_returns_to_the_next_cut():
    v, v_t, r, discount, _ = sample(2, 6)
    cut = jnp.zeros(6, bool).at[2].set(True)
    targets, advantages = vtrace(v, v_t, r, discount, jnp.ones(6), cut_t=cut)
    for begin, end in ((0, 3), (3, 6)):
        total = v_t[end - 1]
        for t in range(end - 1, begin - 1, -1):
            total = r[t] + discount[t] * total
            np.testing.assert_allclose(targets[t], total, rtol=1e-12)
            np.testing.assert_allclose(advantages[t], total - v[t], rtol=1e-12)


def test_clips_are_two():
    inputs = sample(3)
    inputs[4] = jnp.full(12, 5.0)
    plain = vtrace(*inputs)
    assert not np.allclose(plain.targets, vtrace(*inputs, clip_c=2.0).targets)
    assert not np.allclose(plain.targets, vtrace(*inputs, clip_rho=2.0).targets)
    # rho-bar scales the first error; c-bar only how far later ones are carried.
    last = [vtrace(*inputs, clip_c=c).targets[-1] for c in (1.0, 2.0)]
    assert last[0] == last[1]


def test_no_gradient_passes():
    inputs = sample(4)
    gradient = jax.grad(lambda v: sum(map(jnp.sum, vtrace(v, *inputs[1:]))))(inputs[0])
    assert not gradient.any()


def test_shapes_are_checked(unchecked_types):
    inputs = list(sample(5))
    inputs[2] = inputs[2][1:]
    with pytest.raises(ValueError, match=r"r_t has shape \(11,\): it must be \(12,\), as v_tm1"):
        vtrace(*inputs)
