"""What a run leaves, and who may write there: records, checkpoints, provenance, files, locks.

A leaf: it imports no other package of longpass.
"""

from longpass._extras import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
