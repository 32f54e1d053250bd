"""Sequence classification (section 5.1): tasks, settings, learners, training, sweeps."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
