"""What an agent may do and what it sees, as small records in the way of gymnax."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, Int, PRNGKeyArray, UInt8


@dataclasses.dataclass(frozen=True)
class Discrete:
    """The whole numbers 0 to n - 1.

    >>> Discrete(5).contains(4), Discrete(5).contains(5)
    (True, False)
    """

    n: int

    @property
    def shape(self) -> tuple[int, ...]:
        return ()

    @property
    def dtype(self) -> DTypeLike:
        return jnp.int32

    def sample(self, key: PRNGKeyArray) -> Int[Array, ""]:
        """One of them, each equally likely."""
        return jax.random.randint(key, (), 0, self.n, self.dtype)

    def contains(self, x: object) -> bool:
        """Whether `x` is one of them."""
        x = np.asarray(x)
        return x.shape == () and np.issubdtype(x.dtype, np.integer) and 0 <= int(x) < self.n


@dataclasses.dataclass(frozen=True)
class Binary:
    """Arrays of zeros and ones of one shape, as uint8.

    >>> Binary((7, 11, 5)).contains(np.zeros((7, 11, 5), np.uint8))
    True
    """

    shape: tuple[int, ...]

    @property
    def dtype(self) -> DTypeLike:
        return jnp.uint8

    def sample(self, key: PRNGKeyArray) -> UInt8[Array, "*shape"]:
        """An array of fair coins. (What an environment shows is far more regular than this.)"""
        return jax.random.bernoulli(key, 0.5, self.shape).astype(self.dtype)

    def contains(self, x: object) -> bool:
        """Whether `x` has this shape and dtype and holds nothing but zeros and ones."""
        x = np.asarray(x)
        return x.shape == self.shape and x.dtype == self.dtype and bool((x <= 1).all())
