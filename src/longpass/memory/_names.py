"""Memories by name, and other values that settings of memories take.

Adding a memory is a file for it and a line in `MEMORIES`. This file does not import JAX: a memory
is loaded when it is first made.
"""

import pkgutil
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple

from longpass import _checks

if TYPE_CHECKING:
    from longpass.memory._abstract import AbstractMemory

Normalise = Literal["layer"]
"""How each pool is normalised before its viewport reads it; None is not at all."""


class NamedMemory(NamedTuple):
    """Where to find a memory, and which settings it has."""

    place: str
    """The class, as "module:Class". It takes `(input_size, output_size, *, dtype, key)` and, if it
    has pools, the options of `Concrete`, or, if it has gates, those of `LSTM`."""
    has_pools: bool = False
    """Whether it is made of pools."""
    has_gates: bool = False
    """Whether it has gates whose initial biases may be set."""

    def load(self) -> "Callable[..., AbstractMemory]":
        """The class. This imports JAX."""
        return pkgutil.resolve_name(self.place)


# The only list of names: settings, flags and `make_memory` read it.
MEMORIES = {
    "chain": NamedMemory("longpass.memory._concrete:Concrete", has_pools=True),
    "parallel": NamedMemory("longpass.memory._concrete:Parallel", has_pools=True),
    "lstm": NamedMemory("longpass.memory._lstm:LSTM", has_gates=True),
    "gru": NamedMemory("longpass.memory._gru:GRU", has_gates=True),
}

if TYPE_CHECKING:
    MemoryName = str
else:
    MemoryName = Literal[tuple(MEMORIES)]
"""The memories that have a name: chain is the LP-RNN, parallel its control."""


def find_memory(name: MemoryName) -> NamedMemory:
    """The memory of this name. ValueError if there is none."""
    _checks.one_of("memory", name, tuple(MEMORIES))
    return MEMORIES[name]


def has_gates(name: MemoryName) -> bool:
    """Whether the memory of this name has gates. ValueError if there is none of this name."""
    return find_memory(name).has_gates


def has_pools(name: MemoryName) -> bool:
    """Whether the memory of this name has pools. ValueError if there is none of this name."""
    return find_memory(name).has_pools
