"""Memories: modules that carry a state through time, under one contract (`AbstractMemory`)."""

from longpass._names import Normalise as Normalise
from longpass._rates import rates as rates
from longpass.memory._abstract import AbstractMemory as AbstractMemory
from longpass.memory._abstract import plain_unroll as plain_unroll
from longpass.memory._concrete import Concrete as Concrete
from longpass.memory._concrete import Parallel as Parallel
from longpass.memory._concrete import PooledMemory as PooledMemory
from longpass.memory._filters import Filter as Filter
from longpass.memory._filters import impulse_responses as impulse_responses
from longpass.memory._gru import GRU as GRU
from longpass.memory._links import AbstractLink as AbstractLink
from longpass.memory._links import Gate as Gate
from longpass.memory._links import OrthonormalTanh as OrthonormalTanh
from longpass.memory._links import Projection as Projection
from longpass.memory._lstm import LSTM as LSTM
from longpass.memory._lstm import LSTMState as LSTMState
from longpass.memory._pools import PoolBank as PoolBank
from longpass.memory._pools import PoolChain as PoolChain
from longpass.memory._types import MemoryLike as MemoryLike
