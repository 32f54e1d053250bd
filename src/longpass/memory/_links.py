"""Links: what happens to a signal between one pool of a chain and the next.

The paper's model has none, and hopes for "random projections, nonlinearities, or gating". A link
maps what pool n - 1 holds to what pool n takes in, and may change pool n's rate.

| link | takes in | rate | the memory stays |
|---|---|---|---|
| none | p[n-1] | a_n | linear, time-invariant |
| `Projection` | Q_n p[n-1], Q_n learned | a_n | linear, time-invariant |
| `OrthonormalTanh` | tanh(Q_n p[n-1]), Q_n fixed | a_n | nonlinear |
| `Gate` | p[n-1] | a_n sigmoid(G_n u + g_n) | linear in its pools, but not in its input |

Whatever the link, each pool alone is a low-pass filter of what it takes in. So a chain with links
runs pool by pool, each over all time at once; only a gate's moving rate forces a step-wise scan.

A learned link is learned only as far as gradients reach: `gradient_pools` must be at least 2.
"""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from longpass import _checks

Rate = float | Float[Array, "*time size"]


class AbstractLink(eqx.Module):
    """The links of a chain of `pools` pools, into pools 2 to `pools`."""

    @abc.abstractmethod
    def __call__(
        self,
        n: int,
        below: Float[Array, "*time size"],
        drive: Float[Array, "*time size"],
        rate: float,
    ) -> tuple[Float[Array, "*time size"], Rate]:
        """What the pool after the n-th takes in (n from 1), and at which rate."""


class Projection(AbstractLink):
    """A learned matrix between pools, at first the identity: the paper's model."""

    matrices: Float[Array, "links size size"]

    def __init__(self, size: int, pools: int, *, dtype=None):
        size, pools = _checks.positive_int("size", size), _checks.positive_int("pools", pools)
        self.matrices = jnp.tile(jnp.eye(size, dtype=dtype), (pools - 1, 1, 1))

    def __call__(self, n, below, drive, rate):
        del drive
        return below @ self.matrices[n - 1].T, rate


class OrthonormalTanh(AbstractLink):
    """A fixed random rotation and a tanh between pools, as in the paper's appendix A."""

    matrices: Float[Array, "links size size"]

    def __init__(self, size: int, pools: int, *, dtype=None, key: PRNGKeyArray):
        size, pools = _checks.positive_int("size", size), _checks.positive_int("pools", pools)
        make = jax.nn.initializers.orthogonal()
        dtype = jnp.zeros((), dtype).dtype
        keys = jax.random.split(key, pools - 1)
        self.matrices = jax.vmap(lambda one: make(one, (size, size), dtype))(keys)

    def __call__(self, n, below, drive, rate):
        del drive
        fixed = jax.lax.stop_gradient(self.matrices[n - 1])
        return jnp.tanh(below @ fixed.T), rate


class Gate(AbstractLink):
    """A gate that the input opens and closes: a closed pool holds what it has.

    It slows pools down and never speeds them up. At first it is nearly open (sigmoid(3) = 0.95).
    """

    matrices: Float[Array, "links size size"]
    biases: Float[Array, "links size"]

    def __init__(self, size: int, pools: int, *, dtype=None):
        size, pools = _checks.positive_int("size", size), _checks.positive_int("pools", pools)
        self.matrices = jnp.zeros((pools - 1, size, size), dtype)
        self.biases = jnp.full((pools - 1, size), 3.0, dtype)

    def __call__(self, n, below, drive, rate):
        opening = jax.nn.sigmoid(drive @ self.matrices[n - 1].T + self.biases[n - 1])
        return below, rate * opening
