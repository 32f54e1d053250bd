"""Links: operations between one pool of a chain and the next.

Section 2 of the paper mentions such links as extensions.

The paper's model has none, and mentions "random projections, nonlinearities, or gating" as
extensions. A link maps the contents of pool n - 1 to the input of pool n, and may change the rate
of pool n.

| link | input of pool n | rate | the memory is |
|---|---|---|---|
| None | p[n-1] | a_n | linear, time-invariant |
| `Projection` | Q_n p[n-1], Q_n learned | a_n | linear, time-invariant |
| `OrthonormalTanh` | tanh(Q_n p[n-1]), Q_n fixed | a_n | nonlinear |
| `Gate` | p[n-1] | a_n sigmoid(G_n u + g_n) | linear in its pools, but not in its input |

With any link, each pool alone is a low-pass filter of its input. So a chain with links runs pool
by pool, each over all time at once; only a gate, whose rate varies, needs a scan over steps.

A learned link gets gradients only through pools that pass them: `gradient_pools` must be at
least 2.
"""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from longpass import _checks

Rate = float | Float[Array, "*time size"]


class AbstractLink(eqx.Module):
    """The links of a chain: one into each pool from the second on.

    A link of your own defines `size`, `num_pools` and `__call__`.
    """

    size: eqx.AbstractVar[int]
    """The width of a pool."""
    num_pools: eqx.AbstractVar[int]
    """The number of pools of the chain."""

    @abc.abstractmethod
    def __call__(
        self,
        n: int,
        below: Float[Array, "*time size"],
        drive: Float[Array, "*time size"],
        rate: float,
    ) -> tuple[Float[Array, "*time size"], Rate]:
        """The input and the rate of the pool after the n-th.

        **Arguments:**

        - `n`: number of the pool before the link, from 1.
        - `below`: contents of that pool, of shape `(size,)` or `(time, size)`.
        - `drive`: what enters pool 1, of the same shape.
        - `rate`: the rate of the pool after the link.

        **Returns:**

        The input of the pool after the link, and its rate.
        """


class Projection(AbstractLink):
    """A learned matrix between pools. It starts as the identity, which is the paper's model.

    >>> Projection(4, 3).matrices.shape
    (2, 4, 4)
    """

    size: int = eqx.field(static=True)
    num_pools: int = eqx.field(static=True)
    matrices: Float[Array, "links size size"]

    def __init__(self, size: int, num_pools: int, *, dtype=None):
        """**Arguments:**

        - `size`: width of a pool.
        - `num_pools`: number of pools of the chain.
        - `dtype`: of the matrices. None: JAX's default, float32.
        """
        self.size, self.num_pools = _check_sizes(size, num_pools)
        self.matrices = jnp.tile(jnp.eye(size, dtype=dtype), (num_pools - 1, 1, 1))

    def __call__(self, n, below, drive, rate):
        del drive
        return below @ self.matrices[n - 1].T, rate


class OrthonormalTanh(AbstractLink):
    """A fixed random rotation and a tanh between pools, as in the paper's appendix A.

    >>> OrthonormalTanh(4, 3, key=jax.random.key(0)).matrices.shape
    (2, 4, 4)
    """

    size: int = eqx.field(static=True)
    num_pools: int = eqx.field(static=True)
    matrices: Float[Array, "links size size"]

    def __init__(self, size: int, num_pools: int, *, dtype=None, key: PRNGKeyArray):
        """**Arguments:**

        - `size`: width of a pool.
        - `num_pools`: number of pools of the chain.
        - `dtype`: of the matrices. None: JAX's default, float32.
        - `key`: for the rotations.
        """
        self.size, self.num_pools = _check_sizes(size, num_pools)
        make = jax.nn.initializers.orthogonal()
        dtype = jnp.zeros((), dtype).dtype
        keys = jax.random.split(key, num_pools - 1)
        self.matrices = jax.vmap(lambda one: make(one, (size, size), dtype))(keys)

    def __call__(self, n, below, drive, rate):
        del drive
        fixed = jax.lax.stop_gradient(self.matrices[n - 1])
        return jnp.tanh(below @ fixed.T), rate


class Gate(AbstractLink):
    """A gate that the input opens and closes: a pool behind a closed gate keeps its contents.

    A gate can only slow pools down. It starts nearly open (sigmoid(3) = 0.95).

    >>> Gate(4, 3).biases.shape
    (2, 4)
    """

    size: int = eqx.field(static=True)
    num_pools: int = eqx.field(static=True)
    matrices: Float[Array, "links size size"]
    biases: Float[Array, "links size"]

    def __init__(self, size: int, num_pools: int, *, dtype=None):
        """**Arguments:**

        - `size`: width of a pool.
        - `num_pools`: number of pools of the chain.
        - `dtype`: of matrices and biases. None: JAX's default, float32.
        """
        self.size, self.num_pools = _check_sizes(size, num_pools)
        self.matrices = jnp.zeros((num_pools - 1, size, size), dtype)
        self.biases = jnp.full((num_pools - 1, size), 3.0, self.matrices.dtype)

    def __call__(self, n, below, drive, rate):
        opening = jax.nn.sigmoid(drive @ self.matrices[n - 1].T + self.biases[n - 1])
        return below, rate * opening


def check_link(link: AbstractLink | None, size: int, num_pools: int) -> AbstractLink | None:
    """`link`, if it is None or fits a chain of `num_pools` pools of this size."""
    if link is not None and not isinstance(link, AbstractLink):
        raise TypeError(
            f"link is {link!r}: it must be None or a link, such as Gate({size}, {num_pools})"
        )
    if link is not None and (link.size, link.num_pools) != (size, num_pools):
        raise ValueError(
            f"link is for {link.num_pools} pools of size {link.size}: it must be for {num_pools} "
            f"pools of size {size}"
        )
    return link


def _check_sizes(size: int, num_pools: int) -> tuple[int, int]:
    return _checks.positive_int("size", size), _checks.positive_int("num_pools", num_pools)
