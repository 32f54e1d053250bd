"""Sequence classification: tasks, settings, learners, training, plans and sweeps (section 5.1)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
