"""The memories in PyTorch, with the interface of `nn.GRU` and `nn.LSTM`: pools are layers.

Nothing here imports JAX. `longpass.torch.sb3` has a policy for sb3-contrib.
"""

from longpass.torch._concrete import Concrete as Concrete
from longpass.torch._concrete import ConcreteCell as ConcreteCell
from longpass.torch._concrete import Parallel as Parallel
from longpass.torch._concrete import ParallelCell as ParallelCell
from longpass.torch._files import load as load
from longpass.torch._files import save as save
from longpass.torch._pools import PoolBank as PoolBank
from longpass.torch._pools import PoolChain as PoolChain
