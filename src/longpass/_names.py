"""Names that settings take, where the command line can read them without loading JAX."""

from typing import Literal

MemoryName = Literal["chain", "parallel", "lstm", "gru"]
Normalise = Literal["layer"]  # of pools before their viewports; None: not at all
Writer = Literal["learned", "frozen", "slow"]  # how what writes into a memory learns
Embedding = Literal["plain", "sparse", "centred"]  # how an embedding of frames starts
