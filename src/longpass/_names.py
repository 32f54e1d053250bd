"""Names that settings take, where the command line can read them without loading JAX."""

from typing import Literal

MemoryName = Literal["chain", "parallel", "lstm", "gru"]
Normalise = Literal["layer"]  # of pools before their viewports; None: not at all
NormaliseFlag = Literal["none", "layer"]  # the same as a setting, where None is "the default"
Writer = Literal["learned", "frozen", "slow"]  # how what writes into a memory learns
Embedding = Literal["plain", "sparse", "centred"]  # how an embedding of frames starts
Preset = Literal["quick", "laptop", "paper"]  # how much of the paper to run
