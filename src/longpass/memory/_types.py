"""The types of states and inputs, and what a network needs of a memory."""

from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Array, Bool, Num, PyTree

State = PyTree[Array]
Start = Bool[Array, ""] | Bool[np.ndarray, ""] | bool
Starts = Bool[Array, " time"] | Bool[np.ndarray, " time"] | None
# Integers and bools are cast to the memory's dtype.
Input = Num[Array, " input"] | Bool[Array, " input"]
Inputs = Num[Array, "time input"] | Bool[Array, "time input"]
BatchInputs = Num[Array, "time batch input"] | Bool[Array, "time batch input"]


@runtime_checkable
class MemoryLike(Protocol):
    """What a network needs of a memory; `AbstractMemory` says what each member means."""

    @property
    def input_size(self) -> int: ...

    @property
    def dtype(self) -> Any: ...

    @property
    def output_shape(self) -> tuple[int, ...]: ...

    def initial_state(self, batch_shape: tuple[int, ...] = ()) -> Any: ...

    def step(self, state: Any, x: Any, start: Any = False) -> tuple[Any, Any]: ...

    def unroll(
        self, state: Any, xs: Any, starts: Any = None, block_every: int | None = None
    ) -> tuple[Any, Any]: ...

    def unroll_batch(
        self, states: Any, xs: Any, starts: Any = None, block_every: int | None = None
    ) -> tuple[Any, Any]: ...
