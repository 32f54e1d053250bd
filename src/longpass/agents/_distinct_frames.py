"""Embeddings of many frames, each distinct one made once, with gradients to the writer.

A rollout of a gridworld has few distinct frames: of 2,400 steps in Sequence Recall about a hundred.
A writer that learns must embed them anew after every step of the optimiser, but not each of them
twenty times.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Num, UInt32

CHUNK = 64  # distinct frames that are embedded at a time

Embedding = Callable[[Array], Array]
"""A function that is a tree of arrays, such as the torso of an `ActorCritic`."""
_T = TypeVar("_T")


def can_hash(frames: Num[Array, "..."]) -> bool:
    """Whether frames can be told apart by `hash_frames`: those of bytes can.

    Sums of larger numbers, if all of these are multiples of a high power of 2, may be equal.
    """
    return jnp.issubdtype(frames.dtype, jnp.integer) and frames.dtype.itemsize == 1


def hash_frames(frames: Num[Array, "many *observation"]) -> UInt32[Array, "many 2"]:
    """Two sums of random numbers for each frame of bytes, 64 bits in all.

    That two of the frames of a run have the same sums is very unlikely. The sums of a frame of
    zeros are not 0.
    """
    flat = frames.reshape(frames.shape[0], -1).astype(jnp.uint32)
    numbers = np.random.default_rng(0).integers(
        1 << 32, size=(2, flat.shape[1] + 1), dtype=np.uint32
    )
    sums = [jnp.sum(flat * row[1:], axis=1, dtype=jnp.uint32) + row[0] for row in numbers]
    return jnp.stack(sums, axis=1)


def find_distinct(
    frames: Num[Array, "many *observation"],
) -> tuple[Int[Array, " many"], Int[Array, " many"], Int[Array, ""]]:
    """Number the distinct frames.

    **Arguments:**

    - `frames`: of bytes.

    **Returns:** (where a frame with each number is, the number of each frame, how many numbers
    there are). What is beyond the last number has no meaning.
    """
    hashes = hash_frames(frames)
    places = jnp.arange(hashes.shape[0], dtype=jnp.int32)
    high, low, order = jax.lax.sort((hashes[:, 0], hashes[:, 1], places), num_keys=2)
    new = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
    ranks = jnp.concatenate([jnp.zeros(1, jnp.int32), jnp.cumsum(new, dtype=jnp.int32)])
    examples = jnp.zeros_like(places).at[ranks].set(order)
    return examples, jnp.zeros_like(places).at[order].set(ranks), ranks[-1] + 1


@jax.custom_vjp
def embed_distinct(
    torso: Embedding, frames: Num[Array, "many *observation"]
) -> Float[Array, "many embedding"]:
    """`torso(frames)`, with work for the distinct frames only; likewise its gradients.

    **Arguments:**

    - `torso`: makes the embeddings. It must treat each frame by itself.
    - `frames`: of bytes.

    **Returns:** the embeddings.
    """
    return _embed(torso, frames)[0]


def _embed(torso: Embedding, frames: Array) -> tuple[Array, tuple[Any, ...]]:
    examples, numbers, count = find_distinct(frames)
    examples = jnp.pad(examples, (0, -examples.shape[0] % CHUNK))

    def add(chunk: Array, table: Array) -> Array:
        embedded = torso(_take_chunk(frames, examples, chunk))
        return jax.lax.dynamic_update_slice_in_dim(table, embedded, chunk * CHUNK, 0)

    embeddings = jax.eval_shape(torso, frames)
    table = jnp.zeros((examples.shape[0], embeddings.shape[1]), embeddings.dtype)
    table = _for_chunks(count, add, table)
    return table[numbers], (torso, frames, examples, numbers, count)


def _gradient(kept: tuple[Any, ...], gradient: Array) -> tuple[Embedding, None]:
    torso, frames, examples, numbers, count = kept
    rows = jnp.zeros((examples.shape[0], gradient.shape[1]), gradient.dtype)
    rows = rows.at[numbers].add(gradient)

    def add(chunk: Array, total: Embedding) -> Embedding:
        some = _take_chunk(frames, examples, chunk)
        _, pull_back = jax.vjp(lambda torso: torso(some), torso)
        (part,) = pull_back(jax.lax.dynamic_slice_in_dim(rows, chunk * CHUNK, CHUNK))
        return jax.tree.map(jnp.add, total, part)

    return _for_chunks(count, add, jax.tree.map(jnp.zeros_like, torso)), None


embed_distinct.defvjp(_embed, _gradient)


def _take_chunk(frames: Array, examples: Array, chunk: Array) -> Array:
    return frames[jax.lax.dynamic_slice_in_dim(examples, chunk * CHUNK, CHUNK)]


def _for_chunks(count: Array, body: Callable[[Array, _T], _T], begin: _T) -> _T:
    """`body` of each chunk that has one of the `count` distinct frames."""
    return jax.lax.fori_loop(0, -(-count // CHUNK), body, begin)
