"""Values that settings of networks take. This file does not import JAX."""

from typing import Literal

Writer = Literal["learned", "frozen", "slow"]
"""How the weights that write into the memory are trained."""
Embedding = Literal["plain", "sparse", "centred"]
"""How the embedding of frames is initialised."""
