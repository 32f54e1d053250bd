"""The contract of a memory as checks that run on anybody's memory, in JAX or PyTorch.

    from longpass.testing import check_memory

    check_memory(my_memory).raise_if_failed()

`check_memory` does not import PyTorch, and `check_module` and `check_step` do not import JAX.
"""

from longpass._extras import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
