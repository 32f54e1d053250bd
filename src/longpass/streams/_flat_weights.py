"""All weights of a network as one vector: a step of the optimiser is then one short loop."""

import dataclasses
import itertools
import math
from collections.abc import Hashable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from longpass.networks import Classifier
from longpass.streams._stream import AnyArray


@dataclasses.dataclass(frozen=True)
class WeightLayout:
    """How the arrays of a network lie in a vector, and everything of the network that is no array.

    Hashable: it is a static argument of compiled programs. Make one by `WeightLayout.of`.

    >>> from longpass.streams import StreamSettings, make_network
    >>> settings = StreamSettings(memory="lstm", state_size=4, hidden_size=8).resolved()
    >>> network = jax.eval_shape(lambda: make_network(settings, "float32"))
    >>> WeightLayout.of(network).size
    284
    """

    structure: Hashable
    shapes: tuple[tuple[int, ...], ...]
    constants: tuple[Hashable, ...]
    """Leaves that are no arrays, such as activations."""
    is_array: tuple[bool, ...]
    """Which leaves are arrays, in the order of the structure."""

    @classmethod
    def of(cls, network: Classifier) -> "WeightLayout":
        """The layout of networks like this one, whose arrays may be `jax.ShapeDtypeStruct`s."""
        leaves, structure = jax.tree.flatten(network)
        is_array = tuple(map(_is_array_or_shape, leaves))
        marked = list(zip(leaves, is_array, strict=True))
        shapes = tuple(leaf.shape for leaf, array in marked if array)
        return cls(structure, shapes, tuple(leaf for leaf, array in marked if not array), is_array)

    @property
    def size(self) -> int:
        """Number of weights."""
        return sum(math.prod(shape) for shape in self.shapes)

    def build(self, weights: Float[AnyArray, " weights"]) -> Classifier:
        """The network with these weights."""
        ends = list(itertools.accumulate(math.prod(shape) for shape in self.shapes))
        parts = jnp.split(jnp.asarray(weights), ends[:-1])
        arrays = (part.reshape(shape) for part, shape in zip(parts, self.shapes, strict=True))
        constants = iter(self.constants)
        leaves = [next(arrays) if array else next(constants) for array in self.is_array]
        return jax.tree.unflatten(self.structure, leaves)


def flatten_weights(network: Classifier) -> Float[Array, " weights"]:
    """All weights of a network, in the order of its layout."""
    leaves = jax.tree.leaves(eqx.filter(network, eqx.is_array))
    return jnp.concatenate([leaf.ravel() for leaf in leaves])


def _is_array_or_shape(leaf: object) -> bool:
    return eqx.is_array(leaf) or isinstance(leaf, jax.ShapeDtypeStruct)
