"""Checks of what users pass in. Each message names the argument, its value and what is right."""

import math
import operator
from collections.abc import Sequence
from typing import SupportsFloat, SupportsIndex

import numpy as np

_MOST_INT32 = 2**31 - 1


def positive_int(name: str, value: object) -> int:
    """`value` as an int of at least 1, and not larger than any array may be."""
    number = int_within(name, value, 1, None)
    if number > _MOST_INT32:
        raise ValueError(f"{name} is {number}: it must be at most {_MOST_INT32}")
    return number


def int_within(name: str, value: object, least: int, most: int | None) -> int:
    """`value` as an int from `least` to `most` (None: no upper bound)."""
    right = f"at least {least}" if most is None else f"{least} to {most}"
    try:
        if isinstance(value, bool) or not isinstance(value, int | SupportsIndex):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}: it must be a whole number, {right}") from None
    if number < least or (most is not None and number > most):
        raise ValueError(f"{name} is {number}: it must be {right}")
    return number


MOST_SEED = 2**32 - 1
"""The largest seed: those of `jax.random.key` are equal again from here on, in single precision."""


def seed(name: str, value: object) -> int:
    """`value` as a seed: an int from 0 to `MOST_SEED`."""
    return int_within(name, value, 0, MOST_SEED)


def count(name: str, value: object, most: int | None = None) -> int:
    """`value` as an int from 1 to `most` (None: no upper bound).

    A float will do if it is whole, so that 4e7 can be said.
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return int_within(name, value, 1, most)


def real(
    name: str,
    value: object,
    *,
    above: float | None = None,
    least: float | None = None,
    most: float | None = None,
) -> float:
    """`value` as a finite float: above `above`, at least `least` and at most `most` if given."""
    bounds = [f"above {above:g}"] if above is not None else []
    bounds += [f"at least {least:g}"] if least is not None else []
    bounds += [f"at most {most:g}"] if most is not None else []
    right = " and ".join(["finite", *bounds])
    try:
        if not isinstance(value, float | int | str | bytes | SupportsFloat | SupportsIndex):
            raise TypeError
        number = float(value)
    except OverflowError:
        number = math.inf
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {value!r}: it must be a number, {right}") from None
    low = (above is not None and number <= above) or (least is not None and number < least)
    high = most is not None and number > most
    if not np.isfinite(number) or low or high:
        raise ValueError(f"{name} is {number!r}: it must be {right}")
    return number


def rates_tuple(rates: Sequence[float] | np.ndarray) -> tuple[float, ...]:
    """`rates` as a tuple of floats in (0, 1], at least one."""
    try:
        array = np.asarray(rates, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"rates is {rates!r}: it must be a sequence of numbers in (0, 1]") from None
    if array.ndim != 1 or array.size == 0:
        raise ValueError(
            f"rates has shape {array.shape}: it must be a sequence of at least one number in (0, 1]"
        )
    for place, rate in enumerate(array):
        if not 0.0 < rate <= 1.0:
            raise ValueError(f"rates[{place}] is {rate!r}: it must be in (0, 1]")
    return tuple(array.tolist())


def pool_dtype(name: str) -> None:
    """The dtype of pools, by its name: in 16 bits a slow pool stops short of a constant input.

    A step adds a rate times a difference. Once that is less than half the spacing of 16-bit
    numbers, nothing is added: the pool of rate 2^-8 ends at a quarter of its input in bfloat16.
    """
    if name not in ("float32", "float64"):
        raise ValueError(
            f"dtype is {name}: it must be float32 or float64 for pools, because slow pools stall "
            f"in 16 bits"
        )


def one_of(name: str, value: object, choices: Sequence[object]) -> None:
    """`value` must be one of `choices`."""
    if value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} is {value!r}: it must be one of {listed}")
