"""Embeddings of frames that were seen before, while the writer is frozen.

An embedding that never changes need not be made twice, and in most worlds the same frames come
again and again. If the frames of all copies are in the table, acting does not run the torso.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num, UInt32

from longpass.agents._networks import writer_is_frozen
from longpass.networks import ActorCritic

_BITS = 15  # of the number of a place in the table: two frames in one place displace each other


class FrameTable(eqx.Module):
    """Embeddings, each in the place that a hash of its frame says.

    A frame is recognised by 64 bits: that two frames of a run have the same ones, so that one gets
    the embedding of the other, is less likely than one in a million.
    """

    hashes: UInt32[Array, "places 2"]
    embeddings: Float[Array, "places embedding"]

    @classmethod
    def for_frames(
        cls, network: ActorCritic, frames: Num[Array, "envs *observation"]
    ) -> "FrameTable | None":
        """An empty table; None if embeddings change, or if frames are not whole numbers.

        **Arguments:**

        - `network`: the network that acts.
        - `frames`: some frames, of which only shape and dtype count.
        """
        whole = jnp.issubdtype(frames.dtype, jnp.integer)
        if not writer_is_frozen(network) or network.read_last_step or not whole:
            return None
        width, dtype = network.memory.input_size, network.memory.dtype
        return cls(jnp.zeros((1 << _BITS, 2), jnp.uint32), jnp.zeros((1 << _BITS, width), dtype))

    def embed(
        self, network: ActorCritic, frames: Num[Array, "envs *observation"]
    ) -> tuple["FrameTable", Float[Array, "envs embedding"]]:
        """`network.embed` of one frame per copy: (the table with these frames, embeddings)."""
        hashes = _hash_frames(frames)
        places = (hashes[:, 0] >> (32 - _BITS)).astype(jnp.int32)
        known = jnp.all(self.hashes[places] == hashes, axis=1)
        embeddings = jax.lax.cond(
            jnp.all(known), lambda: self.embeddings[places], lambda: network.embed(frames)
        )
        # One frame per step is added, the first that is new: XLA's scatter is slow on CPUs.
        new = jnp.argmin(known)
        table = FrameTable(
            jax.lax.dynamic_update_index_in_dim(self.hashes, hashes[new], places[new], 0),
            jax.lax.dynamic_update_index_in_dim(self.embeddings, embeddings[new], places[new], 0),
        )
        return table, embeddings


def _hash_frames(frames: Num[Array, "envs *observation"]) -> UInt32[Array, "envs 2"]:
    """Two sums of random numbers per frame. Not 0, which stands for an empty place."""
    flat = frames.reshape(frames.shape[0], -1).astype(jnp.uint32)
    numbers = np.random.default_rng(0).integers(
        1 << 32, size=(2, flat.shape[1] + 1), dtype=np.uint32
    )
    sums = [jnp.sum(flat * row[1:], axis=1, dtype=jnp.uint32) + row[0] for row in numbers]
    return jnp.stack(sums, axis=1)
