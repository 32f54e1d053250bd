"""Settings of streams as plain fields, which the command line can read without loading JAX."""

import dataclasses

from longpass._names import MemoryName, NormaliseFlag, TaskName


@dataclasses.dataclass(frozen=True)
class StreamFields:
    """One run: a task, a network, a regime and a seed. None takes the default of task or memory."""

    task: TaskName = "two-markers"
    """Which streams to classify."""
    memory: MemoryName = "chain"
    """What remembers: chain is the LP-RNN, parallel its control."""
    truncation: int = 2
    """Steps that gradients reach back, and symbols of each stream in a minibatch."""
    batch_size: int = 32
    """Streams that are read side by side."""
    symbols: int | float | None = None
    """Symbols to train on, over all streams. By default the paper's: 4e7, subsequences 1e8."""
    learning_rate: float = 1e-3
    """Adam's learning rate (paper: 5e-7 to 1e-3)."""
    epsilon: float = 1e-6
    """Adam's epsilon (paper: 5e-7 to 1e-3)."""
    M: int = 64
    """Units of the hidden layer (paper: 16, 32, 64)."""
    D: int | None = None
    """Size of a pool (paper: 8 to 48; by default 24) or of the LSTM or GRU (8 to 96; 32)."""
    k: int | None = None
    """Pools (paper: 4 to 12; by default 12)."""
    V: int | None = None
    """Units of a viewport (paper: 4 to 16; by default 16)."""
    b: float | None = None
    """Base of the pools' rates (paper: 1.5, 2, 3; by default 1.5)."""
    normalise: NormaliseFlag | None = None
    """Pools before their viewports: none (the paper) or layer."""
    clear_state: bool = False
    """Clear the memory where sequences start. The paper's is carried on."""
    words_seed: int | None = None
    """Draw other words for the task subsequences than ours."""
    seed: int = 0
    """Of weights and streams."""


@dataclasses.dataclass(frozen=True)
class PlanFields:
    """Which runs a sweep has: so many with random settings for each task, memory and truncation.

    Runs go round the cells, so that a sweep that is stopped has about as many of each.
    """

    name: str = "sweep"
    """Of the sweep; with the seed, it decides what is drawn."""
    seed: int = 0
    """Another seed draws other settings, weights and streams."""
    tasks: tuple[TaskName, ...] = ("two-markers", "three-markers", "subsequences")
    """Which tasks."""
    memories: tuple[MemoryName, ...] = ("chain", "parallel", "lstm")
    """Which memories."""
    truncations: tuple[int, ...] = (2, 4, 8, 16, 32, 64, 128, 256)
    """Which truncation lengths."""
    batch_sizes: tuple[int, ...] = (4, 8, 16, 32, 64, 128)
    """Batch sizes to draw from."""
    runs: int = 20
    """Random settings for each task, memory and truncation."""
    symbols: int | float | None = None
    """Symbols to train each run on; by default the paper's (4e7; subsequences 1e8)."""
