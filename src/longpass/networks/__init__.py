"""Networks around a memory, as in the paper's schematics: identical except for the memory.

`Classifier` and `ActorCritic` take any memory object; `make_memory`, `make_classifier` and
`make_actor_critic` build the paper's networks from the name of a memory.
"""

from longpass._extras import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
