"""Defaults of settings that depend on the memory.

They were found by one small search for all memories (`scripts/search_defaults.py`), which
docs/classification.md describes. This file does not import JAX.
"""

from longpass.memory import MemoryName, has_pools

LONG_TRUNCATION = 16
"""From this truncation on minibatches have labels enough for a larger learning rate."""

_POOLS = {"pool_size": 24, "num_pools": 12, "viewport_size": 16, "base": 1.5}
# Parallel filters with pools of 24 units lose all units of their hidden layer more often.
_PARALLEL = {**_POOLS, "pool_size": 48}
_STATE = {"state_size": 32}
# Learning rates at truncations below `LONG_TRUNCATION`, and from there on.
_POOL_RATES: dict[MemoryName, tuple[float, float]] = {
    "chain": (3e-4, 1e-3),
    "parallel": (2e-4, 1e-3),
}
# At long truncations LSTM and GRU unlearn what they have learned if their learning rate is as large
# as that of the pools.
_STATE_RATES = (5e-4, 5e-4)


def memory_defaults(memory: MemoryName, truncation: int) -> dict[str, int | float]:
    """The defaults of all settings that depend on the memory, by name.

    **Arguments:**

    - `memory`: its name.
    - `truncation`: steps that gradients reach back.
    """
    sizes = _STATE
    if has_pools(memory):
        sizes = _PARALLEL if memory == "parallel" else _POOLS
    short, long = _POOL_RATES.get(memory, _STATE_RATES)
    return {"learning_rate": short if truncation < LONG_TRUNCATION else long, **sizes}


def foreign_settings(memory: MemoryName) -> tuple[str, ...]:
    """The settings that this memory does not have: those of pools, or those of other memories."""
    return tuple(_STATE) if has_pools(memory) else (*_POOLS, "normalise")
