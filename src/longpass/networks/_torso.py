"""What an actor-critic sees with: a small convolution and an embedding, or an embedding alone."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Num, PRNGKeyArray

CHANNELS = 16
STRIDE = 2
_KERNEL = 3


class Torso(eqx.Module):
    """Observations in, an embedding out; on any number of leading axes at once.

    Boards (rows, columns, features) pass a 3 x 3 convolution of 16 channels with stride 2; what
    has another shape is only flattened. One layer makes the embedding. Both end in a ReLU. Weights
    are truncated normal with variance 1 / fan-in, biases 0 (`plain`); `sparse` is another start.
    """

    shape: tuple[int, ...] = eqx.field(static=True)
    filters: Float[Array, "patch channels"] | None
    filter_bias: Float[Array, " channels"] | None
    weight: Float[Array, "embedding features"]
    bias: Float[Array, " embedding"]
    centre: Float[Array, " embedding"]
    """What is taken from the embedding, and never learned: 0 unless `sparse` is asked for more."""

    def __init__(self, shape: tuple[int, ...], size: int, *, dtype: Any, key: PRNGKeyArray):
        filter_key, weight_key = jax.random.split(key)
        normal = jax.nn.initializers.lecun_normal
        self.shape = shape
        self.filters = self.filter_bias = None
        features = 1
        for length in shape:
            features *= length
        if len(shape) == 3:
            rows, columns, planes = shape
            patch = _KERNEL * _KERNEL * planes
            self.filters = normal()(filter_key, (patch, CHANNELS), dtype)
            self.filter_bias = jnp.zeros(CHANNELS, dtype)
            features = -(-rows // STRIDE) * -(-columns // STRIDE) * CHANNELS
        self.weight = normal(in_axis=-1, out_axis=-2)(weight_key, (size, features), dtype)
        self.bias = jnp.zeros(size, dtype)
        self.centre = jnp.zeros(size, dtype)

    def __call__(self, frames: Num[Array, "..."]) -> Float[Array, "... embedding"]:
        """The embedding of frames (..., *shape)."""
        spoken = jax.nn.relu(self._features(frames) @ self.weight.T + self.bias)
        return spoken - jax.lax.stop_gradient(self.centre)

    def sparse(
        self, frames: Num[Array, "sample *shape"], threshold: float = 1.0, centred: bool = False
    ) -> "Torso":
        """This torso with an embedding that is mostly silent on a sample of frames.

        Each unit gets variance 1 over the sample, and a bias under which it speaks only where it
        lies `threshold` standard deviations above its mean; at 1, about one frame in six. Such
        units stand for things that are seen *together*, and a slow pool can hold those apart. The
        sample has frames as often as they are seen: what fills the time should be silent.

        `centred`: each unit's mean over the sample is taken from it ever after, so that what a slow
        pool holds is how the past differed from any other.
        """
        before = self._features(frames) @ self.weight.T
        mean, deviation = jnp.mean(before, axis=0), jnp.std(before, axis=0)
        # A unit that sees no difference between frames must not be blown up to see rounding.
        scale = 1.0 / jnp.maximum(deviation, 0.01 * jnp.max(deviation) + 1e-6)
        spoken = jax.nn.relu((before - mean) * scale - threshold)
        centre = jnp.mean(spoken, axis=0) if centred else self.centre
        return eqx.tree_at(
            lambda torso: (torso.weight, torso.bias, torso.centre),
            self,
            (self.weight * scale[:, None], -mean * scale - threshold, centre),
        )

    def _features(self, frames: Num[Array, "..."]) -> Float[Array, "... features"]:
        """What the embedding is made from: (..., features)."""
        frames = frames.astype(self.weight.dtype)
        batch = frames.shape[: frames.ndim - len(self.shape)]
        if self.filters is not None and self.filter_bias is not None:
            # On a CPU one product over patches is faster than XLA's convolution of small boards.
            frames = jax.nn.relu(_patches(frames) @ self.filters + self.filter_bias)
        return frames.reshape(*batch, self.weight.shape[1])


def _patches(boards: Float[Array, "*batch rows columns planes"]) -> Float[Array, "..."]:
    """Each place's 3 x 3 surroundings, zeros beyond the edge: (..., rows / 2, columns / 2, 9 p)."""
    rows, columns = boards.shape[-3:-1]
    edges = [(0, 0)] * (boards.ndim - 3) + [(1, 1), (1, 1), (0, 0)]
    padded = jnp.pad(boards, edges)
    shifted = [
        padded[..., row : row + rows : STRIDE, column : column + columns : STRIDE, :]
        for row in range(_KERNEL)
        for column in range(_KERNEL)
    ]
    return jnp.concatenate(shifted, axis=-1)
