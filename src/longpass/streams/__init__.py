"""Sequence classification (section 5.1): tasks, settings, learners, training, sweeps."""

from longpass._extras import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
