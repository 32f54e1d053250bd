"""Which cells of the T-maze's dirt are drawn: 60 of 100, once an episode.

An agent sees 77 of the 12,000 cells at a time, so the draw is made where it is looked at: a cell
is kept if a hash of the episode's seed and the cell says so. An episode then carries 8 bytes, and
starting one costs nothing. A speckle given by hand is carried as bits.
"""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt8, UInt32

from longpass.envs import _t_maze_world as world

KEEP = 0.6


class AbstractSpeckle(eqx.Module):
    """Says of any cell whether its dirt is drawn."""

    @abc.abstractmethod
    def kept(self, cells: Int[Array, "*n"]) -> Bool[Array, "*n"]:
        """Whether the dirt of each cell (row * COLS + column) is drawn."""

    def mask(self) -> Bool[np.ndarray, "77 191"]:
        """The dirt that is drawn, over the whole world. For one concrete speckle."""
        cells = jnp.arange(world.ROWS * world.COLS)
        drawn = np.asarray(self.kept(cells)).reshape(world.ROWS, world.COLS)
        return drawn & (world.WORLD == world.DIRT)


class HashedSpeckle(AbstractSpeckle):
    """The speckle of a seed.

    >>> speckle = HashedSpeckle(jnp.array([1, 2], jnp.uint32))
    >>> speckle.kept(jnp.arange(5)).shape
    (5,)
    """

    seed: UInt32[Array, "2"]

    def kept(self, cells: Int[Array, "*n"]) -> Bool[Array, "*n"]:
        # Two rounds of a 32-bit mixer (constants: "lowbias32", by bias-minimising search).
        mixed = _mix(_mix(cells.astype(jnp.uint32) + self.seed[0]) ^ self.seed[1])
        return mixed < jnp.uint32(round(KEEP * 2**32))


class GivenSpeckle(AbstractSpeckle):
    """A speckle given by hand: make it with `of`.

    >>> speckle = GivenSpeckle.of(np.ones((77, 191), bool))
    >>> bool(speckle.kept(jnp.arange(5)).all())
    True
    """

    packed: UInt8[Array, " bytes"]
    """The mask in rows, eight cells per byte, the first in the highest bit."""

    @classmethod
    def of(cls, mask: Bool[np.ndarray, "77 191"] | UInt8[np.ndarray, "77 191"]) -> "GivenSpeckle":
        """The speckle that draws these cells."""
        mask = np.asarray(mask)
        if mask.shape != (world.ROWS, world.COLS):
            raise ValueError(
                f"speckle has shape {mask.shape}: it must be ({world.ROWS}, {world.COLS})"
            )
        return cls(jnp.asarray(np.packbits(mask.astype(bool))))

    def kept(self, cells: Int[Array, "*n"]) -> Bool[Array, "*n"]:
        place = (7 - (cells & 7)).astype(jnp.uint8)
        return (self.packed[cells >> 3] >> place) & 1 == 1


def _mix(x: UInt32[Array, "*n"]) -> UInt32[Array, "*n"]:
    x = (x ^ (x >> 16)) * jnp.uint32(0x21F0AAAD)
    x = (x ^ (x >> 15)) * jnp.uint32(0x735A2D97)
    return x ^ jax.lax.shift_right_logical(x, jnp.uint32(15))
