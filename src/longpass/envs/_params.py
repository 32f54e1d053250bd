"""Checks of parameter records, whose fields may be numbers, arrays of them or traced values."""

from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from longpass import _checks

MOST_FRAMES = 10**9
"""Sums of two frame counts must fit an int32."""


def whole(name: str, value: Any, least: int, most: int | None = MOST_FRAMES) -> None:
    """`value`, or each number in it, must be a whole number from `least` to `most`."""
    for one in _known(value):
        _checks.int_within(name, one, least, most)


def flag(name: str, value: Any) -> None:
    """`value`, or each one in it, must be true or false."""
    for one in _known(value):
        if not isinstance(one, bool):
            raise TypeError(f"{name} is {one!r}: it must be True or False")


def limbo(name: str, value: Any) -> None:
    """`value`, or each number in it, must be 0 or at least 3."""
    for one in _known(value):
        if _checks.int_within(name, one, 0, MOST_FRAMES) in (1, 2):
            raise ValueError(
                f"{name} is {one}: it must be 0 (no limbo) or at least 3. The original game "
                "misplaces the player or a goal with 1 and 2, so they are not offered"
            )


def time_limit(name: str, value: Any) -> None:
    """`value`, or each number in it, must be a number of frames, or negative for no limit."""
    whole(name, value, -MOST_FRAMES)


def _known(value: Any) -> list[Any]:
    """The values to check, as Python's own; none if they are traced."""
    if isinstance(value, Tracer):
        return []
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        return np.asarray(value).reshape(-1).tolist()
    return [value]
