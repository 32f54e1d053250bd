"""The actor-critic: step and unroll agree, and its settings do what they say."""

import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

from longpass.memory import GRU, LSTM, Concrete, MemoryName, Parallel
from longpass.networks import ActorCritic, Torso, make_actor_critic
from tests.helpers import given

KEY = jax.random.key(0)
BOARD = (5, 6, 3)
NAMES: tuple[MemoryName, ...] = ("chain", "parallel", "lstm", "gru")


def small(name: MemoryName = "chain", **more):
    """A small network by the name of its memory."""
    pools = {"num_pools": 3, "viewport_size": 4} if name in ("chain", "parallel") else {}
    sizes = {"output_size": 8, "pool_size": 8}
    return make_actor_critic(name, BOARD, 5, **sizes, **pools, **more, key=KEY)


def boards(count, shape=BOARD):
    return jnp.asarray(np.random.default_rng(1).random((count, *shape)) < 0.3, jnp.uint8)


@eqx.filter_jit
def unroll(network, frames, starts=None):
    return network.unroll(network.initial_state(), frames, starts)


class Constant:
    """A memory that is no `AbstractMemory` but keeps the contract: it remembers the last input."""

    input_size, output_shape, dtype = 3, (3,), jnp.dtype(jnp.float32)

    def initial_state(self, batch_shape=()):
        return jnp.zeros((*batch_shape, 3), jnp.float32)

    def step(self, state, x, start: Any = False):
        return x, jnp.where(start, 0, state)

    def unroll(self, state, xs, starts=None, block_every=None):
        starts = jnp.zeros(xs.shape[0], bool) if starts is None else starts
        return jax.lax.scan(lambda state, inputs: self.step(state, *inputs), state, (xs, starts))

    def unroll_batch(self, states, xs, starts=None, block_every=None):
        return jax.vmap(self.unroll, in_axes=(0, 1, 1), out_axes=(0, 1))(states, xs, starts)


NETWORKS = {name: functools.partial(small, name, logit_scale=1.0) for name in NAMES} | {
    "a memory object": lambda: ActorCritic(
        Concrete(6, 7, num_pools=2, dtype=jnp.float32, key=KEY), BOARD, 5, logit_scale=1.0, key=KEY
    ),
    "another class": lambda: ActorCritic(Constant(), BOARD, 5, logit_scale=1.0, key=KEY),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_acting_is_learning(name):
    """Frame by frame, with starts, a network says what it says of all frames at once."""
    # Built by one program: op by op, JAX would compile dozens.
    network = eqx.filter_jit(NETWORKS[name])()
    frames, starts = np.asarray(boards(6)), np.array([False, False, True, False, True, False])
    state, logits, values = jax.device_get(unroll(network, frames, starts))
    step = eqx.filter_jit(network.step)
    alone = network.initial_state()
    for t in range(6):
        alone, logits_t, value_t = step(alone, frames[t], starts[t])
        np.testing.assert_allclose(logits_t, logits[t], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(value_t, values[t], rtol=1e-5, atol=1e-6)
    for one, other in zip(jax.tree.leaves(alone), jax.tree.leaves(state), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_the_torso_is_a_convolution():
    """A product over patches is XLA's convolution of the same weights, padded, with stride 2."""
    frames = jnp.asarray(np.asarray(boards(4), np.float32))

    @jax.jit
    def both():
        torso = Torso(BOARD, 7, dtype=jnp.float32, key=KEY)
        kernel = given(torso.filters).reshape(3, 3, BOARD[2], 16)
        seen = jax.lax.conv_general_dilated(
            frames, kernel, (2, 2), ((1, 1), (1, 1)), dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        expected = jax.nn.relu(jax.nn.relu(seen).reshape(4, -1) @ torso.weight.T)
        return torso(frames), torso(frames[2]), expected

    ours, alone, expected = both()
    np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(alone, expected[2], rtol=1e-5, atol=1e-6)


def test_a_torso_for_what_is_no_board():
    torso = Torso((4,), 6, dtype=jnp.float32, key=KEY)
    x = jnp.ones((2, 4), jnp.float32)
    np.testing.assert_allclose(torso(x), jax.nn.relu(x @ torso.weight.T), rtol=1e-6)


def test_a_sparse_embedding_is_mostly_silent():
    frames, constant = boards(500), jnp.ones((10, *BOARD), jnp.uint8)

    @jax.jit
    def run(frames, constant):
        torso = Torso(BOARD, 64, dtype=jnp.float32, key=KEY)
        return torso.sparse(frames)(frames), torso.sparse(constant)(constant[:1])

    embedded, still = run(frames, constant)
    assert 0.1 < np.mean(np.asarray(embedded) > 0) < 0.22
    # A constant frame tells units nothing: they must stay silent, not blow up.
    assert not np.asarray(still).any()


def test_a_centred_embedding_is_the_sparse_one_less_its_mean_for_good():

    @jax.jit
    def run(frames):
        torso = Torso(BOARD, 64, dtype=jnp.float32, key=KEY)
        sparse, centred = (torso.sparse(frames, centred=choice) for choice in (False, True))
        gradient = eqx.filter_grad(lambda torso: jnp.sum(torso(frames)))(centred)
        return sparse(frames), centred(frames), gradient

    sparse, centred, gradient = jax.device_get(run(boards(500)))
    np.testing.assert_allclose(centred, sparse - sparse.mean(axis=0), atol=1e-5)
    assert gradient.weight.any()
    assert not gradient.centre.any()


def test_what_writes_is_marked():
    """The torso, and the pools' input matrix; an LSTM reads and writes with the same weights."""
    for name, count in zip(NAMES, (6, 6, 5, 5), strict=True):
        writing = eqx.filter_eval_shape(small, name).writing()
        assert sum(jax.tree.leaves(writing)) == count
        assert all(jax.tree.leaves(writing.torso))
        if name == "chain":
            assert writing.memory.write is True
    writing = eqx.filter_eval_shape(ActorCritic, Constant(), BOARD, 5, key=KEY).writing()
    assert all(jax.tree.leaves(writing.torso))
    assert not any(jax.tree.leaves((writing.policy, writing.value)))


@pytest.mark.parametrize("name", NAMES)
def test_all_memories_store_the_last_step(name):
    """Also where pools have fewer units than the memory has inputs, and the writer is frozen."""
    network = small(name, writer="frozen", read_last_step=True)
    state, frame = network.initial_state(), boards(1)[0]
    found = []
    for last_step in np.eye(6, dtype=np.float32):
        after, _, _ = network.step(state, frame, last_step=jnp.asarray(last_step))
        found.append(np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(after)]))
    for i, one in enumerate(found):
        assert all(np.abs(one - other).max() > 1e-3 for other in found[:i])


@pytest.mark.parametrize(
    ("name", "kind"), list(zip(NAMES, (Concrete, Parallel, LSTM, GRU), strict=True))
)
def test_names_are_a_convenience(name, kind):
    """A network by name is the network of the memory object, with the keys split in one order."""
    network = small(name)
    sizes: dict[str, Any] = (
        {"num_pools": 3, "viewport_size": 4, "pool_size": 8} if kind in (Concrete, Parallel) else {}
    )
    width = 8 if name == "parallel" else 128
    memory_key = jax.random.split(KEY, 4)[1]
    memory = kind(width, 8, **sizes, dtype=jnp.float32, key=memory_key)
    same = ActorCritic(memory, BOARD, 5, key=KEY)
    assert jax.tree.structure(network) == jax.tree.structure(same)
    assert jax.tree.all(jax.tree.map(np.array_equal, network, same))
    assert isinstance(network.memory, kind)


def test_memories_are_of_comparable_size():
    sizes = {}
    for name in ("chain", "parallel", "lstm"):
        pools = {} if name == "lstm" else {"num_pools": 9, "viewport_size": 32}
        build = functools.partial(make_actor_critic, name, BOARD, 5, pool_size=198, **pools)
        network = jax.eval_shape(lambda key, build=build: build(key=key), KEY)
        sizes[name] = sum(leaf.size for leaf in jax.tree.leaves(network.memory))
    assert sizes["lstm"] == 131_584
    assert sizes["chain"] == 127_872
    assert abs(sizes["parallel"] / sizes["lstm"] - 1) < 0.1


def test_logit_scale_sets_how_even_the_first_policy_is():
    entropies = []
    for scale in (0.0, 1.0, 4.0):
        _, logits, _ = unroll(small(logit_scale=scale), boards(20))
        log_probs = scipy.special.log_softmax(np.asarray(logits), axis=-1)
        entropies.append(-np.mean(np.sum(np.exp(log_probs) * log_probs, axis=-1)))
    assert entropies[0] == pytest.approx(np.log(5), rel=1e-6)
    assert entropies[0] > entropies[1] > entropies[2]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"memory": "tape"}, "memory is 'tape': it must be one of 'chain'"),
        ({"writer": "quick"}, "writer is 'quick': it must be one of 'learned', 'frozen', 'slow'"),
        ({"embedding": "thin"}, "embedding is 'thin': it must be one of 'plain', 'sparse', 'cent"),
        (
            {"memory": "gru", "normalise": "layer"},
            "normalise is 'layer': it must not be given for gru, which has no pools",
        ),
        (
            {"memory": "chain", "longest_time": 9},
            "longest_time is 9: it must not be given for chain, which has no gates",
        ),
        ({"logit_scale": -1.0}, "logit_scale is -1.0: it must be finite and at least 0"),
        ({"num_actions": 0}, "num_actions is 0: it must be at least 1"),
    ],
)
def test_bad_settings_are_refused(setting, message, unchecked_types):
    usual = {"memory": "chain", "observation_shape": BOARD, "num_actions": 5}
    with pytest.raises(ValueError, match=message):
        make_actor_critic(**usual | setting, key=KEY)
