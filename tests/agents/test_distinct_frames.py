"""Embedding the distinct frames once is embedding them all, in outputs and gradients."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from longpass.agents import NetworkBuilder, NetworkSettings
from longpass.agents._distinct_frames import CHUNK, embed_distinct, find_distinct
from longpass.agents._networks import embed_slice
from longpass.networks import ActorCritic

SHAPE = (3, 4, 2)


@functools.cache
def make_network(read_last_step: bool = False) -> ActorCritic:
    settings = NetworkSettings(num_pools=2, pool_size=8, read_last_step=read_last_step)
    return jax.jit(NetworkBuilder(settings, SHAPE, 5))(jax.random.key(0))


def draw_frames(many: int, distinct: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    frames = rng.integers(0, 4, (distinct, *SHAPE)).astype(np.uint8)
    return frames[rng.integers(0, distinct, many)]


CASES = {
    "one frame": (200, 1),
    "few": (200, 10),
    "more than one chunk": (300, 2 * CHUNK),
    "many, not a multiple of the chunk": (CHUNK + 5, 10_000),
}


@pytest.mark.parametrize(("many", "distinct"), CASES.values(), ids=CASES)
def test_distinct_frames_are_numbered(many: int, distinct: int):
    frames = draw_frames(many, distinct)
    examples, numbers, count = map(np.asarray, jax.jit(find_distinct)(frames))
    assert count == len(np.unique(frames.reshape(many, -1), axis=0))
    assert set(numbers) == set(range(count))
    np.testing.assert_array_equal(frames[examples[numbers]], frames)


@pytest.mark.parametrize(("many", "distinct"), CASES.values(), ids=CASES)
def test_outputs_and_gradients_are_those_of_the_torso(many: int, distinct: int):
    torso, frames = make_network().torso, jnp.asarray(draw_frames(many, distinct))
    weight = jax.random.normal(jax.random.key(1), (many, torso.bias.shape[0]))

    @functools.partial(jax.jit, static_argnums=0)
    def run(embed, torso):
        value = embed(torso, frames)
        return value, jax.grad(lambda torso: jnp.sum(weight * embed(torso, frames) ** 2))(torso)

    ours, plain = run(embed_distinct, torso), run(lambda torso, frames: torso(frames), torso)
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(plain), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


def test_each_distinct_frame_is_embedded_once():
    """The work is counted by a torso that says how many frames it was given. For gradients each is
    embedded once more, and no other."""
    given = []

    class Counting(eqx.Module):
        weight: jax.Array

        def __call__(self, frames: jax.Array) -> jax.Array:
            jax.debug.callback(lambda: given.append(len(frames)))
            return frames.reshape(len(frames), -1) @ self.weight

    torso = Counting(jnp.ones((24, 3)))
    frames = jnp.asarray(draw_frames(500, 70))
    jax.block_until_ready(jax.jit(embed_distinct)(torso, frames))
    jax.effects_barrier()
    assert given == [CHUNK, CHUNK]
    jax.block_until_ready(
        jax.jit(jax.grad(lambda torso: embed_distinct(torso, frames).sum()))(torso)
    )
    jax.effects_barrier()
    assert given == [CHUNK] * 6


@pytest.mark.parametrize("read_last_step", [False, True])
def test_learners_embed_as_the_network_does(read_last_step: bool):
    network = make_network(read_last_step)
    frames = jnp.asarray(draw_frames(2 * CHUNK, 10).reshape(CHUNK, 2, *SHAPE))
    last_step = jnp.ones((CHUNK, 2, 6)) if read_last_step else None
    embedded = eqx.filter_jit(embed_slice)(network, (frames, last_step))
    plain = eqx.filter_jit(network.embed)(frames, last_step)
    np.testing.assert_allclose(embedded, plain, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("dtype", "distinct"), [("uint8", True), ("int32", False), ("float32", False)]
)
def test_only_frames_of_bytes_are_sought_out(dtype: str, distinct: bool):
    """Sums of other numbers may be equal."""
    network = make_network()
    frames = jnp.ones((2 * CHUNK, 1, *SHAPE), dtype)
    text = str(jax.make_jaxpr(lambda frames: embed_slice(network, (frames, None)))(frames))
    assert ("sort" in text) == distinct
