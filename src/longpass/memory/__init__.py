"""Memories: modules that carry a state through time, under one contract (`AbstractMemory`)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
