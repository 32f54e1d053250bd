"""Names that settings take, where the command line can read them without loading JAX."""

from typing import Literal

Family = Literal["chain", "parallel", "lstm", "gru"]  # what remembers
TaskName = Literal["two-markers", "three-markers", "subsequences"]
Normalise = Literal["none", "layer"]  # of pools before their viewports
Preset = Literal["quick", "laptop", "paper"]  # how much of the paper to run
