from . import agents as agents
from . import claims as claims
from . import envs as envs
from . import figures as figures
from . import jobs as jobs
from . import memory as memory
from . import networks as networks
from . import records as records
from . import report as report
from . import streams as streams
from . import testing as testing
from . import theory as theory
from . import torch as torch
from ._rates import rates as rates
from .memory import GRU as GRU
from .memory import LSTM as LSTM
from .memory import Concrete as Concrete
from .memory import Parallel as Parallel
from .memory import PoolBank as PoolBank
from .memory import PoolChain as PoolChain

__version__: str
