"""Parameters of worlds as pytrees."""

import dataclasses
from collections.abc import Iterable

import jax

from longpass.envs._bounds import bounds_of

Values = tuple[object, ...]


def register_params(cls: type) -> None:
    """Register the parameters of a world as a pytree, so that they can hold arrays.

    Fields whose bounds are static are part of the tree's structure, all others are its leaves.

    **Arguments:**

    - `cls`: a frozen dataclass, such as `world_params` makes.
    """
    bounds = bounds_of(cls)
    fields = [field.name for field in dataclasses.fields(cls)]
    static = [name for name in fields if name in bounds and bounds[name].static]
    leaves = [name for name in fields if name not in static]
    keys = [jax.tree_util.GetAttrKey(name) for name in leaves]

    def flatten(params: object) -> tuple[Values, Values]:
        return (
            tuple(getattr(params, name) for name in leaves),
            tuple(getattr(params, name) for name in static),
        )

    def flatten_with_keys(
        params: object,
    ) -> tuple[tuple[tuple[object, object], ...], Values]:
        values, fixed = flatten(params)
        return tuple(zip(keys, values, strict=True)), fixed

    def unflatten(fixed: Values, values: Iterable[object]) -> object:
        # Not by the constructor: JAX also puts in what no check would accept.
        params = object.__new__(cls)
        for name, value in (*zip(leaves, values, strict=True), *zip(static, fixed, strict=True)):
            object.__setattr__(params, name, value)
        return params

    jax.tree_util.register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)
