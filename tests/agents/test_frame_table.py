"""The table of frames seen before: acting with it is acting without it."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from longpass.agents import Impala, LearnerSettings, NetworkBuilder, NetworkSettings, hyper_arrays
from longpass.agents._frame_table import FrameTable
from longpass.agents._settings import HyperParams
from longpass.envs import CuedCatch
from longpass.memory import GRU
from longpass.networks import ActorCritic, Writer

KEY = jax.random.key(0)


@functools.cache
def make_network(writer: Writer) -> ActorCritic:
    make = eqx.filter_jit(
        lambda: ActorCritic(GRU(8, 4, key=KEY), (3, 4, 2), 5, writer=writer, key=KEY)
    )
    return make()


embed_all = eqx.filter_jit(lambda network, frames: network.embed(frames))
look_up = eqx.filter_jit(lambda table, network, frames: table.embed(network, frames))


def test_a_table_gives_the_embeddings_of_the_network():
    network = make_network("frozen")
    frames = np.random.default_rng(0).integers(0, 2, (20, 3, 3, 4, 2)).astype(np.uint8)
    frames[5:15] = frames[3]  # frames that come again, and then others
    table = FrameTable.for_frames(network, jnp.asarray(frames[0]))
    assert table is not None
    for now in map(jnp.asarray, frames):
        table, embedded = look_up(table, network, now)
        np.testing.assert_allclose(embedded, embed_all(network, now), rtol=1e-6, atol=1e-6)


def test_frames_of_the_table_are_not_embedded_again():
    """Another network shows who made an embedding: one frame is added per step."""
    network = make_network("frozen")
    other = eqx.tree_at(lambda net: net.torso.bias, network, network.torso.bias + 1)
    frames = np.random.default_rng(0).integers(0, 2, (2, 3, 4, 2)).astype(np.uint8)
    table = FrameTable.for_frames(network, jnp.asarray(frames))
    assert table is not None
    for _ in range(2):
        table, _ = look_up(table, network, frames)
    first, second = (np.asarray(embed_all(net, frames)) for net in (network, other))
    np.testing.assert_array_equal(look_up(table, other, frames)[1], first)
    np.testing.assert_array_equal(look_up(table, other, frames[::-1])[1], first[::-1])
    changed = frames.copy()
    changed[0, 0, 0, 0] += 1
    found = np.asarray(look_up(table, other, changed)[1])
    assert not np.array_equal(found[1], first[1])
    np.testing.assert_allclose(found[1], second[1], rtol=1e-6)


def test_the_empty_table_knows_no_frame():
    """Not even the one whose sums are 0."""
    network, nothing = make_network("frozen"), jnp.zeros((2, 3, 4, 2), jnp.uint8)
    network = eqx.tree_at(lambda net: net.torso.bias, network, network.torso.bias + 1)
    table = FrameTable.for_frames(network, nothing)
    assert table is not None
    np.testing.assert_array_equal(look_up(table, network, nothing)[1], embed_all(network, nothing))


def test_a_writer_that_learns_has_a_table_for_one_rollout():
    frames = jnp.ones((2, 3, 4, 2), jnp.uint8)
    for network, kept in (
        (make_network("frozen"), True),
        (make_network("learned"), False),
        (make_network("slow"), False),
    ):
        table = FrameTable.for_frames(network, frames)
        assert table is not None
        table, _ = look_up(table, network, frames)
        assert np.any(table.hashes)
        assert np.any(table.for_rollout(network).hashes) == kept


def test_no_table_for_more_than_frames_of_bytes():
    frames = jnp.zeros((2, 3, 4, 2), jnp.uint8)

    @eqx.filter_jit
    def make(input_size, **options):
        return ActorCritic(GRU(input_size, 4, key=KEY), (3, 4, 2), 5, key=KEY, **options)

    reads = make(14, writer="frozen", read_last_step=True)
    assert FrameTable.for_frames(reads, frames) is None
    for dtype in (jnp.float32, jnp.int32):
        assert FrameTable.for_frames(make_network("frozen"), frames.astype(dtype)) is None


@pytest.mark.slow
@pytest.mark.parametrize("writer", ["frozen", "learned"])
def test_training_with_a_table_is_training_without(writer: Writer):
    env = CuedCatch()
    settings = NetworkSettings(num_pools=3, pool_size=16, writer=writer, embedding="sparse")
    builder = NetworkBuilder(settings, env.observation_space().shape, env.action_space().n)
    learner = Impala(
        env, env.default_params, builder, LearnerSettings(envs=2, rollout=30, stagger=20)
    )
    hyper, state = hyper_arrays(HyperParams()), learner.start(KEY)
    update = jax.jit(learner.update)
    alone = state
    for _ in range(3):
        alone, _ = update(alone, hyper)
    together, _ = learner.train_steps(state, hyper, 3)
    for one, other in zip(jax.tree.leaves(alone), jax.tree.leaves(together), strict=True):
        if not jnp.issubdtype(one.dtype, jax.dtypes.prng_key):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
