"""The types of states and inputs, and what a network needs of a memory."""

from typing import Protocol, runtime_checkable

import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, Bool, Num, PyTree

State = PyTree[Array]
"""The state of a memory."""
DType = DTypeLike | None
"""A dtype that a user may choose. None: JAX's default, float32."""
Start = Bool[Array, ""] | Bool[np.ndarray, ""] | bool
"""Whether a sequence begins at a step."""
Starts = Bool[Array, " time"] | Bool[np.ndarray, " time"] | None
# Integers and bools are cast to the memory's dtype.
Input = Num[Array, " input"] | Bool[Array, " input"]
Inputs = Num[Array, "time input"] | Bool[Array, "time input"]
BatchStarts = Bool[Array, "time batch"] | Bool[np.ndarray, "time batch"] | None
BatchInputs = Num[Array, "time batch input"] | Bool[Array, "time batch input"]


@runtime_checkable
class MemoryLike(Protocol):
    """What a network needs of a memory; `AbstractMemory` says what each member means."""

    @property
    def input_size(self) -> int: ...

    @property
    def dtype(self) -> DTypeLike: ...

    @property
    def output_shape(self) -> tuple[int, ...]: ...

    def initial_state(self, batch_shape: tuple[int, ...] = ()) -> State: ...

    def step(self, state: State, x: Input, start: Start = False) -> tuple[State, Array]: ...

    def unroll(
        self, state: State, xs: Inputs, starts: Starts = None, block_every: int | None = None
    ) -> tuple[State, Array]: ...

    def unroll_batch(
        self,
        states: State,
        xs: BatchInputs,
        starts: BatchStarts = None,
        block_every: int | None = None,
    ) -> tuple[State, Array]: ...
