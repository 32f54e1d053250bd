"""Values that settings of memories take. This file does not import JAX."""

from typing import Literal

Normalise = Literal["layer"]
"""How each pool is normalised before its viewport reads it; None is not at all."""
