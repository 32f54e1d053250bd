"""What pools of low-pass filters remember: delays, windows, spectra, capacity and what can be read.

Every function takes `rates` (see `longpass.memory.rates`) and, where chain and bank differ,
`wiring`: `"chain"` (pool n is fed by pool n - 1) or `"parallel"` (every pool is fed the input).
All arrays are NumPy float64, and t = 0 is the newest input.
"""

from longpass.theory._filters import Wiring as Wiring
from longpass.theory._filters import frequency_response as frequency_response
from longpass.theory._filters import impulse_response as impulse_response
from longpass.theory._filters import mean_delay as mean_delay
from longpass.theory._filters import mean_lag as mean_lag
from longpass.theory._filters import peak_delay as peak_delay
from longpass.theory._filters import pools_for as pools_for
from longpass.theory._filters import spread as spread
from longpass.theory._filters import transition as transition
from longpass.theory._linear_reader import count_distinct_pools as count_distinct_pools
from longpass.theory._linear_reader import fill_pools as fill_pools
from longpass.theory._linear_reader import measure_linear_reader as measure_linear_reader
from longpass.theory._operator import diffusion_matrix as diffusion_matrix
from longpass.theory._operator import history_operator as history_operator
from longpass.theory._recall import memory_capacity as memory_capacity
from longpass.theory._recall import reconstruct as reconstruct
