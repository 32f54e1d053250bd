"""Embeddings of frames that were seen before by the weights that act.

An embedding need not be made twice, and in most worlds the same frames come again and again. If the
frames of all copies are in the table, acting does not run the torso. With a frozen writer a table
serves all rollouts of a compiled call, else one.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Num, UInt32

from longpass.agents._distinct_frames import can_hash, hash_frames
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
        """An empty table; None if the network reads more than frames of bytes.

        **Arguments:**

        - `network`: the network that acts.
        - `frames`: some frames, of which only shape and dtype count.
        """
        if network.read_last_step or not can_hash(frames):
            return None
        width, dtype = network.memory.input_size, network.memory.dtype
        return cls(jnp.zeros((1 << _BITS, 2), jnp.uint32), jnp.zeros((1 << _BITS, width), dtype))

    def for_rollout(self, network: ActorCritic) -> "FrameTable":
        """The table for the next rollout of a network: empty if its writer may have changed."""
        if writer_is_frozen(network):
            return self
        return FrameTable(jnp.zeros_like(self.hashes), self.embeddings)

    def embed(
        self, network: ActorCritic, frames: Num[Array, "envs *observation"]
    ) -> tuple["FrameTable", Float[Array, "envs embedding"]]:
        """`network.embed` of one frame per copy: (the table with these frames, embeddings)."""
        hashes = hash_frames(frames)
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
