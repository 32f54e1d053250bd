"""Hyper-parameters as arrays, which a learner takes without being compiled for their values."""

import dataclasses
from collections.abc import Iterable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Num

from longpass.agents._settings import HyperParams

_NAMES = tuple(field.name for field in dataclasses.fields(HyperParams))


def hyper_arrays(hyper: HyperParams) -> HyperParams:
    """The same hyper-parameters as float32 arrays, for a learner.

    **Arguments:**

    - `hyper`: plain numbers.

    **Returns:**

    A pytree of the same class, over which learners may be `jax.vmap`ped.
    """
    return jax.tree.map(lambda value: jnp.asarray(value, jnp.float32), hyper)


def decay_hyper(hyper: HyperParams, steps: Num[Array, "*population"]) -> HyperParams:
    """The hyper-parameters after `steps` environment steps, with the learning rate and the
    entropy's weight that an agent has by then."""
    lr_halvings = -1e-6 * hyper.lr_halvings_per_million_steps * steps
    entropy_halvings = -1e-6 * hyper.entropy_halvings_per_million_steps * steps
    return eqx.tree_at(
        lambda hyper: (hyper.learning_rate, hyper.entropy_cost),
        hyper,
        (hyper.learning_rate * 2.0**lr_halvings, hyper.entropy_cost * 2.0**entropy_halvings),
    )


def _flatten(hyper: HyperParams) -> tuple[tuple[object, ...], None]:
    return tuple(getattr(hyper, name) for name in _NAMES), None


def _unflatten(_: None, values: Iterable[object]) -> HyperParams:
    # Not by the constructor: its checks are for numbers, and JAX also puts in other things.
    hyper = object.__new__(HyperParams)
    for name, value in zip(_NAMES, values, strict=True):
        object.__setattr__(hyper, name, value)
    return hyper


jax.tree_util.register_pytree_node(HyperParams, _flatten, _unflatten)
