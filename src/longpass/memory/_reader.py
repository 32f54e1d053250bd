"""The reader: one viewport per pool, and a summariser over all viewports.

N_out of section 2, in the form of appendix D (schematics).
"""

from collections.abc import Callable
from typing import get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from longpass import _checks
from longpass.memory._names import Normalise
from longpass.memory._pools import AbstractPools

Activation = Callable[[Array], Array]


class Reader(eqx.Module):
    """Feed-forward layers from the contents of pools (and the input) to one output.

    Weights are truncated normal with variance 1 / fan-in, biases 0. `view` and `summarise` work on
    one step or, with time as the first axis, on many.
    """

    normalise: Normalise | None = eqx.field(static=True)
    activation: Activation = eqx.field(static=True)
    input_viewport: Float[Array, "viewport input"] | None
    viewports: Float[Array, "k viewport size"]
    viewport_bias: Float[Array, " views"]
    summariser: Float[Array, "output views"]
    summary_bias: Float[Array, " output"]

    def __init__(
        self,
        pools: AbstractPools,
        input_size: int | None,
        output_size: int,
        viewport_size: int,
        normalise: Normalise | None,
        activation: Activation,
        *,
        key: PRNGKeyArray,
    ):
        """**Arguments:**

        - `pools`: the pools that are read.
        - `input_size`: width of the input. None: the reader does not see the input.
        - `output_size`: units of the summariser.
        - `viewport_size`: units of each viewport.
        - `normalise`: None or `"layer"`, see `Concrete`.
        - `activation`: of viewports and summariser.
        - `key`: for the initial weights.
        """
        num_pools, pool_size = pools.output_shape
        dtype = pools.dtype
        viewport_size = _checks.positive_int("viewport_size", viewport_size)
        output_size = _checks.positive_int("output_size", output_size)
        _checks.one_of("normalise", normalise, (None, *get_args(Normalise)))
        if not callable(activation):
            raise TypeError(
                f"activation is {activation!r}: it must be a function, such as jax.nn.relu"
            )
        views = viewport_size * (num_pools + (input_size is not None))
        dense = jax.nn.initializers.lecun_normal(in_axis=-1, out_axis=-2, batch_axis=())
        each = jax.nn.initializers.lecun_normal(in_axis=-1, out_axis=-2, batch_axis=(0,))
        input_key, pool_key, summary_key = jax.random.split(key, 3)
        self.normalise = normalise
        self.activation = activation
        self.input_viewport = None
        if input_size is not None:
            input_size = _checks.positive_int("input_size", input_size)
            self.input_viewport = dense(input_key, (viewport_size, input_size), dtype)
        self.viewports = each(pool_key, (num_pools, viewport_size, pool_size), dtype)
        self.viewport_bias = jnp.zeros(views, dtype)
        self.summariser = dense(summary_key, (output_size, views), dtype)
        self.summary_bias = jnp.zeros(output_size, dtype)

    def view(self, n: int, pool: Float[Array, "*time size"]) -> Float[Array, "*time viewport"]:
        """Viewport n (from 0) applied to pool n, before bias and activation."""
        if self.normalise == "layer":
            pool = _layer_norm(pool)
        return pool @ self.viewports[n].T

    def view_all(self, pools: Float[Array, "k size"]) -> Float[Array, " views"]:
        """All viewports applied to all pools at one step: one product instead of k."""
        if self.normalise == "layer":
            pools = _layer_norm(pools)
        return jnp.einsum("nd,nvd->nv", pools, self.viewports).ravel()

    def summarise(
        self, x: Float[Array, "*time input"], views: list[Float[Array, "*time _"]]
    ) -> Float[Array, "*time output"]:
        """The output, from the views of all pools and the input."""
        if self.input_viewport is not None:
            views = [x @ self.input_viewport.T, *views]
        seen = self.activation(jnp.concatenate(views, axis=-1) + self.viewport_bias)
        return self.activation(seen @ self.summariser.T + self.summary_bias)


def _layer_norm(pool: Float[Array, "*time size"]) -> Float[Array, "*time size"]:
    """Mean 0 and variance 1 over the units, without parameters.

    The constant keeps an empty pool at 0, and gradients into it bounded; it is small, because the
    contents of slow pools are small. Both moments come from one pass, which makes a whole agent a
    tenth faster than centring first; its rounding error is below the constant for pools of order 1.
    """
    # Not `jax.nn.standardize`: its gradients round differently, and recorded runs would change.
    mean = jnp.mean(pool, axis=-1, keepdims=True)
    variance = jnp.maximum(jnp.mean(pool**2, axis=-1, keepdims=True) - mean**2, 0.0)
    return (pool - mean) * jax.lax.rsqrt(variance + 1e-6)
