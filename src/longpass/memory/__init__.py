"""Memories: modules that carry a state through time, under one contract (`AbstractMemory`)."""

from longpass._extras import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
