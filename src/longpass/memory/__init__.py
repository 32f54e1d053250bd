"""Memories: what remembers, under one contract (see `AbstractMemory`)."""

from longpass._names import Normalise as Normalise
from longpass._rates import rates as rates
from longpass.memory._batched import unroll_batch as unroll_batch
from longpass.memory._concrete import Concrete as Concrete
from longpass.memory._concrete import LinkName as LinkName
from longpass.memory._concrete import Parallel as Parallel
from longpass.memory._contract import AbstractMemory as AbstractMemory
from longpass.memory._contract import plain_unroll as plain_unroll
from longpass.memory._gated import GRU as GRU
from longpass.memory._gated import LSTM as LSTM
from longpass.memory._gated import LSTMState as LSTMState
from longpass.memory._links import AbstractLink as AbstractLink
from longpass.memory._links import Gate as Gate
from longpass.memory._links import OrthonormalTanh as OrthonormalTanh
from longpass.memory._links import Projection as Projection
from longpass.memory._pools import PoolBank as PoolBank
from longpass.memory._pools import PoolChain as PoolChain
