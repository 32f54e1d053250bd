"""All weights of a network as one vector: an optimiser's step is then one short loop."""

import dataclasses
import itertools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from longpass.networks import Classifier


@dataclasses.dataclass(frozen=True)
class Layout:
    """Where in a vector each array of a network is, and what of the network is no array.

    Hashable, so that programs may be compiled for it.
    """

    structure: Any
    shapes: tuple[tuple[int, ...], ...]
    static: Any

    @classmethod
    def of(cls, network: Classifier) -> "Layout":
        """The layout of networks like this one."""
        arrays, static = eqx.partition(network, eqx.is_array)
        leaves, structure = jax.tree.flatten(arrays)
        return cls(structure, tuple(leaf.shape for leaf in leaves), static)

    def network(self, weights: Float[Array, " weights"]) -> Classifier:
        """The network with these weights."""
        ends = list(itertools.accumulate(int(np.prod(shape)) for shape in self.shapes))
        parts = jnp.split(weights, ends[:-1])
        leaves = [part.reshape(shape) for part, shape in zip(parts, self.shapes, strict=True)]
        return eqx.combine(jax.tree.unflatten(self.structure, leaves), self.static)


def weights_of(network: Classifier) -> Float[Array, " weights"]:
    """All weights of a network, in the order of its layout."""
    leaves = jax.tree.leaves(eqx.filter(network, eqx.is_array))
    return jnp.concatenate([leaf.ravel() for leaf in leaves])
