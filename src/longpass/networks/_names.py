"""Memories by name, and other values that settings of networks take.

This file does not import JAX: a memory is loaded when it is first made.
"""

from typing import TYPE_CHECKING, Literal, NamedTuple

from longpass import _checks


class NamedMemory(NamedTuple):
    """Where to find a memory, and which settings it has."""

    place: str
    """The class, as "module:Class". It takes `(input_size, output_size, *, dtype, key)`
    and, if it has pools, the options of `Concrete`."""
    has_pools: bool = False
    """Whether it takes the options of `Concrete`."""


# The only list of names: settings, flags and `make_memory` read it.
MEMORIES = {
    "chain": NamedMemory("longpass.memory:Concrete", has_pools=True),
    "parallel": NamedMemory("longpass.memory:Parallel", has_pools=True),
    "lstm": NamedMemory("longpass.memory:LSTM"),
    "gru": NamedMemory("longpass.memory:GRU"),
}

if TYPE_CHECKING:
    MemoryName = str
else:
    MemoryName = Literal[tuple(MEMORIES)]
"""The memories that have a name: chain is the LP-RNN, parallel its control."""
Writer = Literal["learned", "frozen", "slow"]
"""How the weights that write into the memory are trained."""
Embedding = Literal["plain", "sparse", "centred"]
"""How the embedding of frames is initialised."""


def has_pools(memory: MemoryName) -> bool:
    """Whether the memory of this name is made of pools. ValueError if there is none."""
    return find_memory(memory).has_pools


def find_memory(name: MemoryName) -> NamedMemory:
    """The memory of this name. ValueError if there is none."""
    _checks.one_of("memory", name, tuple(MEMORIES))
    return MEMORIES[name]
