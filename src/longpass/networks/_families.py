"""The families of memory that the paper compares, and a GRU."""

from typing import Literal

Family = Literal["chain", "parallel", "lstm", "gru"]
