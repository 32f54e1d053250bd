"""The memories in PyTorch, with the interface of `nn.GRU` and `nn.LSTM`: pools are layers.

Nothing here imports JAX. `longpass.torch.sb3` has a policy for sb3-contrib.
"""

from longpass._extras import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
