"""Reinforcement learning: settings, V-trace, rollouts, IMPALA, runs and populations.

Public names are listed in `__init__.pyi` and loaded on first use: settings do not need JAX.
"""

from longpass._extras import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
