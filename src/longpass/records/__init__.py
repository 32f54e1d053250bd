"""What a run leaves, and who may write there: records, checkpoints, provenance, files, locks.

A leaf: it imports no other package of longpass.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
