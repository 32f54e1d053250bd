"""What must be learned is known: every memory passes the probes that it can pass."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from longpass.agents import HyperParams, Impala, LearnerSettings, hyper_arrays
from tests.agents.probes import ACTION_ONLY, DELAYED, RECALL, VALUE_ONLY, Probe, ProbeParams
from tests.agents.zoo import small_network
from tests.helpers import QUICK_COMPILE

pytestmark = pytest.mark.slow
FAMILIES = [
    pytest.param(name, marks=pytest.mark.xdist_group(f"probes {name}"))
    for name in ("chain", "parallel", "lstm", "gru")
]
BLOCK, FAR = 2, 24
# Each kind with its episodes' length: the bit is asked for within gradients' reach, and far beyond.
KINDS = jnp.array([VALUE_ONLY, ACTION_ONLY, DELAYED, RECALL, RECALL], jnp.int32)
LENGTHS = jnp.array([1, 1, 3, BLOCK, FAR], jnp.int32)
UPDATES = 120
SETTINGS = LearnerSettings(envs=16, rollout=48, slices=2, block_every=BLOCK, stagger=30)


@functools.cache
def trained(family):
    """(Returns by probe and update, values by probe of frames 0 [bit 0, bit 1] and the last one).

    The probes are a population: one program, mapped over kinds and hyper-parameters.
    """

    def train(kind, length, hyper, key):
        params = ProbeParams(kind, length)
        learner = Impala(Probe(), params, small_network(family), SETTINGS)
        state, result = jax.lax.scan(
            lambda state, _: learner.update(state, hyper), learner.init(key), length=UPDATES
        )
        network = state.weights.network
        boards = jnp.eye(4, dtype=jnp.uint8)[:, None, None, :]
        empty = network.initial_state()
        _, _, first = jax.vmap(lambda board: network.step(empty, board))(boards)
        # An episode of three frames with a bit of 1: what is the last one worth, remembered so?
        _, _, values = network.unroll(empty, boards[jnp.array([2, 0, 3])])
        return jnp.nanmean(result.scores, axis=(1, 2)), jnp.append(first[1:3], values)

    count = len(KINDS)
    members = [
        HyperParams(learning_rate=5e-3, entropy_cost=5e-3, discount=discount, epsilon=1e-5)
        for discount in (0.9, 0.9, 0.5, 0.9, 0.95)
    ]
    hyper = jax.tree.map(lambda *leaves: jnp.stack(leaves), *map(hyper_arrays, members))
    run = jax.jit(jax.vmap(train), compiler_options=QUICK_COMPILE)
    returns, values = run(KINDS, LENGTHS, hyper, jax.random.split(jax.random.key(0), count))
    return np.asarray(returns), np.asarray(values)


@pytest.mark.parametrize("family", FAMILIES)
def test_values_are_learned(family):
    _, values = trained(family)
    np.testing.assert_allclose(values[0, :2], [0.0, 1.0], atol=0.05)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_paying_action_is_learned(family):
    returns, _ = trained(family)
    assert returns[1, :3].mean() < 0.6
    assert returns[1, -10:].mean() > 0.95


@pytest.mark.parametrize("family", FAMILIES)
def test_a_delayed_reward_is_discounted(family):
    _, values = trained(family)
    np.testing.assert_allclose(values[2, 2:], [0.25, 0.5, 1.0], atol=0.08)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_bit_within_the_block_is_remembered(family):
    returns, _ = trained(family)
    assert returns[3, -10:].mean() > 0.95


@pytest.mark.parametrize("family", FAMILIES)
def test_a_bit_beyond_the_block_is_remembered_by_pools_alone(family):
    """Gradients reach back 2 steps, the bit lies 23 back."""
    returns, _ = trained(family)
    late = np.nanmean(returns[4, -20:])
    if family in ("chain", "parallel"):
        assert late > 0.9
    else:
        assert late < 0.7
