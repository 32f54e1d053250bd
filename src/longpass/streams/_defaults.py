"""Defaults of settings that depend on the memory.

They were found by a small search (`scripts/search_defaults.py`), which docs/classification.md
describes. This file does not import JAX.
"""

from longpass.memory import MemoryName, has_pools, is_foreign

_POOLS = {"pool_size": 24, "num_pools": 12, "viewport_size": 16, "base": 1.5}
_STATE = {"state_size": 32}
# The learning rate of pools with a minibatch of `_MINIBATCH` symbols, and the largest one.
_POOL_RATE = 3e-4
_MINIBATCH = 64
_GROWTH = 0.75  # the power of the minibatch with which they grow
_LARGEST_RATE = 1e-3
# At truncation 128 an LSTM learns equally well at rates from 3e-4 to 1e-3.
_STATE_RATE = 5e-4


def memory_defaults(memory: MemoryName, minibatch: int) -> dict[str, int | float]:
    """The defaults of all settings that depend on the memory, by name.

    The learning rate of pools grows with the minibatch, whose gradients are the less noisy the more
    labels it has. The power fits what was best for parallel filters at truncations 2, 16 and 128.

    **Arguments:**

    - `memory`: its name.
    - `minibatch`: symbols in a minibatch.

    **Returns:**

    The values by the names of settings.
    """
    if not has_pools(memory):
        return {"learning_rate": _STATE_RATE, **({} if is_foreign(memory) else _STATE)}
    rate = min(_LARGEST_RATE, _POOL_RATE * (minibatch / _MINIBATCH) ** _GROWTH)
    return {"learning_rate": float(f"{rate:.2g}"), **_POOLS}


def foreign_settings(memory: MemoryName) -> tuple[str, ...]:
    """The settings that this memory does not have: those of pools, or those of other memories.

    A factory of another package decides about all sizes.
    """
    if is_foreign(memory):
        return (*_POOLS, "normalise", *_STATE)
    return tuple(_STATE) if has_pools(memory) else (*_POOLS, "normalise")
