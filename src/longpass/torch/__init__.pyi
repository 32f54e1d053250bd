from ._concrete import Concrete as Concrete
from ._concrete import ConcreteCell as ConcreteCell
from ._concrete import Parallel as Parallel
from ._concrete import ParallelCell as ParallelCell
from ._files import load as load
from ._files import save as save
from ._pools import PoolBank as PoolBank
from ._pools import PoolChain as PoolChain
