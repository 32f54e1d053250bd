"""The torso of an actor-critic: a small convolution and an embedding, or an embedding alone."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Float, Num, PRNGKeyArray

CHANNELS = 16
STRIDE = 2
_KERNEL = 3


class Torso(eqx.Module):
    """Observations in, an embedding out; on any number of leading axes at once.

    Boards (rows, columns, features) pass a 3 x 3 convolution of 16 channels with stride 2; other
    shapes are only flattened. One layer makes the embedding. Both end in a ReLU. Initial weights
    are truncated normal with variance 1 / fan-in, biases 0; `sparse` makes others.

    **Arguments:**

    - `shape`: of an observation.
    - `size`: of the embedding.
    - `dtype`: of the weights.
    - `key`: for the initial weights.

    >>> torso = Torso((7, 11, 5), 32, dtype=jnp.float32, key=jax.random.key(0))
    >>> torso(jnp.zeros((4, 7, 11, 5))).shape
    (4, 32)
    """

    shape: tuple[int, ...] = eqx.field(static=True)
    filters: Float[Array, "patch channels"] | None
    filter_bias: Float[Array, " channels"] | None
    weight: Float[Array, "embedding features"]
    bias: Float[Array, " embedding"]
    centre: Float[Array, " embedding"]
    """Constant subtracted from the embedding; not trained."""

    def __init__(self, shape: tuple[int, ...], size: int, *, dtype: DTypeLike, key: PRNGKeyArray):
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
        active = jax.nn.relu(self._features(frames) @ self.weight.T + self.bias)
        return active - jax.lax.stop_gradient(self.centre)

    def sparse(
        self, frames: Num[Array, "sample *shape"], threshold: float = 1.0, centred: bool = False
    ) -> "Torso":
        """This torso with an embedding that is 0 on most frames of a sample.

        Each unit gets variance 1 over the sample, and a bias below which it is 0 unless it lies
        `threshold` standard deviations above its mean; at 1, it is active on about one frame in
        six. Such a unit responds to things that are seen *together*, and a slow pool, which
        averages over many steps, can keep those apart.

        **Arguments:**

        - `frames`: the sample, of shape `(sample, *shape)`. Do not remove duplicates: units should
          be silent on the frames that fill most of an episode.
        - `threshold`: in standard deviations above a unit's mean.
        - `centred`: subtract each unit's mean over the sample, as a constant. Slow pools then hold
          deviations from the average frame.
        """
        before = self._features(frames) @ self.weight.T
        mean, deviation = jnp.mean(before, axis=0), jnp.std(before, axis=0)
        # A unit that is the same on all frames must not be scaled up until rounding shows.
        scale = 1.0 / jnp.maximum(deviation, 0.01 * jnp.max(deviation) + 1e-6)
        active = jax.nn.relu((before - mean) * scale - threshold)
        centre = jnp.mean(active, axis=0) if centred else self.centre
        return eqx.tree_at(
            lambda torso: (torso.weight, torso.bias, torso.centre),
            self,
            (self.weight * scale[:, None], -mean * scale - threshold, centre),
        )

    def _features(self, frames: Num[Array, "..."]) -> Float[Array, "... features"]:
        """The input of the embedding layer: (..., features)."""
        frames = frames.astype(self.weight.dtype)
        batch = frames.shape[: frames.ndim - len(self.shape)]
        if self.filters is not None and self.filter_bias is not None:
            # On a CPU one product over patches is faster than XLA's convolution of small boards.
            frames = jax.nn.relu(_patches(frames) @ self.filters + self.filter_bias)
        return frames.reshape(*batch, self.weight.shape[1])


def _patches(boards: Float[Array, "*batch rows columns planes"]) -> Float[Array, "..."]:
    """The 3 x 3 patch around every second cell, zero-padded: (..., rows / 2, columns / 2, 9 p)."""
    rows, columns = boards.shape[-3:-1]
    edges = [(0, 0)] * (boards.ndim - 3) + [(1, 1), (1, 1), (0, 0)]
    padded = jnp.pad(boards, edges)
    shifted = [
        padded[..., row : row + rows : STRIDE, column : column + columns : STRIDE, :]
        for row in range(_KERNEL)
        for column in range(_KERNEL)
    ]
    return jnp.concatenate(shifted, axis=-1)
