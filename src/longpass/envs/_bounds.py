"""Bounds of parameters, declared beside each field and checked when a record is made.

    @world_params
    class CorridorParams:
        length: Annotated[IntOrArray, Whole(1, 100)] = 5

A value may be a number, a NumPy or JAX array of numbers, or a value that JAX traces, which is not
checked. This file does not import JAX, so that command lines can show parameters without it.
"""

import abc
import dataclasses
import functools
import sys
import typing
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from longpass import _checks

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Int

    IntOrArray = int | Int[Array, "..."] | np.ndarray
    BoolOrArray = bool | Bool[Array, "..."] | np.ndarray
else:
    # Command lines read the type of one value.
    IntOrArray, BoolOrArray = int, bool

MOST_FRAMES = 10**9
"""The sum of two numbers of frames must fit an int32."""


class Bounds(abc.ABC):
    """What is allowed as the value of a field."""

    static: bool = False
    """Whether the field is fixed when compiling: it is then one plain value, never an array."""

    @abc.abstractmethod
    def check(self, name: str, value: object) -> None:
        """Raise ValueError or TypeError if `value`, or any element of it, is out of bounds."""


@dataclasses.dataclass(frozen=True)
class Whole(Bounds):
    """A whole number from `least` to `most` (None: no upper bound).

    >>> Whole(0, 5).check("level", 6)
    Traceback (most recent call last):
    ValueError: level is 6: it must be 0 to 5
    """

    least: int
    most: int | None = MOST_FRAMES
    static: bool = False

    def check(self, name: str, value: object) -> None:
        for one in [value] if self.static else known_values(value):
            _checks.int_within(name, one, self.least, self.most)


@dataclasses.dataclass(frozen=True)
class Real(Bounds):
    """One finite number of at least `least`.

    >>> Real(0.0).check("reward_sigma", -1.0)
    Traceback (most recent call last):
    ValueError: reward_sigma is -1.0: it must be finite and at least 0
    """

    least: float
    static: bool = True

    def check(self, name: str, value: object) -> None:
        _checks.real(name, value, least=self.least)


@dataclasses.dataclass(frozen=True)
class Flag(Bounds):
    """True or False.

    >>> Flag().check("truncate_at_timeout", 1)
    Traceback (most recent call last):
    TypeError: truncate_at_timeout is 1: it must be True or False
    """

    def check(self, name: str, value: object) -> None:
        for one in known_values(value):
            if not isinstance(one, bool):
                raise TypeError(f"{name} is {one!r}: it must be True or False")


def known_values(value: object) -> list[object]:
    """The values to check, as plain Python values; none if they are traced by JAX."""
    # A value can only belong to JAX if somebody has imported JAX.
    jax = sys.modules.get("jax")
    if jax is not None and isinstance(value, jax.core.Tracer):
        return []
    arrays = (np.ndarray, np.generic) if jax is None else (np.ndarray, np.generic, jax.Array)
    return np.asarray(value).reshape(-1).tolist() if isinstance(value, arrays) else [value]


@functools.cache
def bounds_of(cls: type) -> dict[str, Bounds]:
    """The bounds that the fields of a class declare, by the field's name."""
    hints = typing.get_type_hints(cls, include_extras=True)
    return {
        name: extra
        for name, hint in hints.items()
        for extra in getattr(hint, "__metadata__", ())
        if isinstance(extra, Bounds)
    }


_T = TypeVar("_T")


@typing.dataclass_transform(frozen_default=True)
def world_params(cls: type[_T]) -> type[_T]:
    """Make a class the parameters of a world: a frozen dataclass that checks its fields' bounds.

    **Arguments:**

    - `cls`: a class with annotated fields, each with a default.

    **Returns:** the class. Instances that hold plain values can be compared and hashed.
    """
    bare: Any = cls
    bare.__post_init__ = _check_bounds
    record = dataclasses.dataclass(frozen=True)(bare)
    # Bounds check the values, and give better messages than a checker of types. The declared type
    # is that of one value, so such a checker would refuse arrays.
    record.__init__.__annotations__.update(dict.fromkeys(bounds_of(record), Any))
    return record


def _check_bounds(record: object) -> None:
    for name, bounds in bounds_of(type(record)).items():
        bounds.check(name, getattr(record, name))
