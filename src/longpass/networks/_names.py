"""Values that settings of networks take. This file does not import JAX."""

from typing import Literal

MemoryName = Literal["chain", "parallel", "lstm", "gru"]
"""The memories that have a name: chain is the LP-RNN, parallel its control."""
Writer = Literal["learned", "frozen", "slow"]
"""How the weights that write into the memory are trained."""
Embedding = Literal["plain", "sparse", "centred"]
"""How the embedding of frames is initialised."""
