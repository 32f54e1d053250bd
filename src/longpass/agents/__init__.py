"""Reinforcement learning: settings, V-trace, rollouts, IMPALA, runs and populations.

Public names are listed in `__init__.pyi` and loaded on first use: settings do not need JAX.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
