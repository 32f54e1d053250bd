"""Memories by name, and other values that settings of memories take.

Adding a memory is a file for it and a line in `MEMORIES`. A name with a colon is that of a factory
in another package, or of a model of memax. This file does not import JAX: a memory is loaded when
it is first made.
"""

import pkgutil
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple

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
    is_foreign: bool = False
    """Whether it is not ours: `place` is then a factory (see `make_foreign`), which decides about
    all sizes."""

    def load(self) -> "Callable[..., AbstractMemory]":
        """The class. This imports JAX."""
        return pkgutil.resolve_name(self.place)


# The only list of names: settings, flags and `make_memory` read it.
MEMORIES = {
    "chain": NamedMemory("longpass.memory._concrete:Concrete", has_pools=True),
    "parallel": NamedMemory("longpass.memory._concrete:Parallel", has_pools=True),
    "lstm": NamedMemory("longpass.memory._lstm:LSTM", has_gates=True),
    "gru": NamedMemory("longpass.memory._gru:GRU", has_gates=True),
    "lru": NamedMemory("longpass.memory._lru:LRU"),
    "mingru": NamedMemory("longpass.memory._mingru:MinGRU", has_gates=True),
}

if TYPE_CHECKING:
    MemoryName = str
else:
    MemoryName = Literal[tuple(MEMORIES)] | str
"""The name of a memory: chain is the LP-RNN, parallel its control. `package.module:factory` is a
factory in another package, `memax:NAME` a model of memax."""


def find_memory(name: MemoryName) -> NamedMemory:
    """The memory of this name. ValueError if there is none; a factory is not looked for yet.

    **Arguments:**

    - `name`: such as `chain`, `package.module:factory` or `memax:LRU`.

    **Returns:**

    Where to find its class, and which settings it has.

    >>> find_memory("chain").load().__name__
    'Concrete'
    """
    if isinstance(name, str) and ":" in name:
        module, _, factory = name.partition(":")
        parts = [*module.split("."), *(factory.split(".") if module != "memax" else [])]
        if factory and all(part.isidentifier() for part in parts):
            return NamedMemory(name, is_foreign=True)
    if not isinstance(name, str) or name not in MEMORIES:
        listed = ", ".join(map(repr, MEMORIES))
        raise ValueError(
            f"memory is {name!r}: it must be one of {listed}, or package.module:factory, or "
            f"memax:NAME"
        )
    return MEMORIES[name]


def has_gates(name: MemoryName) -> bool:
    """Whether the memory of this name has gates. ValueError if there is none of this name.

    **Arguments:**

    - `name`: such as `chain`.

    **Returns:**

    True for an LSTM or a GRU.
    """
    return find_memory(name).has_gates


def has_pools(name: MemoryName) -> bool:
    """Whether the memory of this name has pools. ValueError if there is none of this name.

    **Arguments:**

    - `name`: such as `chain`.

    **Returns:**

    True for a chain or parallel filters.
    """
    return find_memory(name).has_pools


def is_foreign(name: MemoryName) -> bool:
    """Whether the memory of this name is not ours. ValueError if the name is none.

    **Arguments:**

    - `name`: such as `chain` or `memax:LRU`.

    **Returns:**

    True for a factory or a model of memax.
    """
    return find_memory(name).is_foreign
