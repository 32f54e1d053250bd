"""Settings as plain fields, where the command line can read them without loading JAX.

`longpass.learners.StreamSettings`, `longpass.search.Plan` and `longpass.search.Members` are these
with what they mean;
`longpass.learners.configure` makes a run of agents from its fields.
"""

import dataclasses
from typing import Annotated

import tyro

from longpass._names import (
    Embedding,
    MemoryName,
    NormaliseFlag,
    Optimiser,
    OptimiserState,
    TaskName,
    Writer,
)


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


@dataclasses.dataclass(frozen=True)
class AgentFields:
    """One agent: its network and how it learns. None takes the default of the task."""

    memory: MemoryName = "chain"
    """What remembers: chain is the LP-RNN, parallel its control."""
    block_every: int = 20
    """Gradients through the memory's state are stopped every so many steps."""
    seed: int = 0
    """Seed of everything: equal seeds, equal runs."""
    paper: bool = False
    """The paper's own form: learned writer, plain embedding, no normalisation."""
    writer: Writer | None = None
    """How the torso and the pools' input matrix learn: with the rest (the paper), not at all, or
    as an exponential average of what is learned."""
    embedding: Embedding | None = None
    """How the embedding starts: plain (the paper), sparse on a sample of frames, or sparse and less
    its mean."""
    threshold: float | None = None
    """For sparse and centred: units speak so many standard deviations above their mean."""
    normalise: NormaliseFlag | None = None
    """Pools before their viewports: as they are (the paper), or on one scale."""
    logit_scale: float | None = None
    """Size of the policy's first weights."""
    pools: int | None = None
    """How many pools; by default the fewest that reach the task's delay, or some more."""
    pool_size: int = 198
    viewport_size: int = 32
    summary_size: int = 128
    size: int = 128
    """Units of an LSTM or GRU."""
    envs: int | None = None
    """Copies of the environment. Fewer: more steps of the optimiser for as much play."""
    rollout: int | None = None
    """Steps of each copy between updates; by default 300, on a --gym 60."""
    slices: int | None = None
    """Steps of the optimiser a rollout; by default the task's, if block_every fits into each."""
    horizon: int | None = None
    """How far V-trace looks ahead; by default to the end of the slice."""
    lambda_: Annotated[float | None, tyro.conf.arg(name="lambda")] = None
    """How far V-trace carries errors back: all the way (1), or less and less (below 1)."""
    lag: int = 0
    """Act with the weights of so many updates ago."""
    optimiser: Optimiser = "adam"
    learning_rate: float | None = None
    entropy_cost: float | None = None
    discount: float | None = None
    epsilon: float | None = None
    clip_norm: float | None = None
    halvings: float | None = None
    """How often the learning rate is halved in a million steps."""
    reward_scale: float | None = None
    """What rewards are multiplied by in learning, so that returns are of order 1."""
    slow_rate: float = 0.001
    """For --writer slow: the share of the learned weights taken over at each step."""
    dispatch: int = 40
    """Updates in one compiled call, and for one record."""


@dataclasses.dataclass(frozen=True)
class PopulationFields:
    """Population based training, as the paper adapts it: weights are copied, hyper-parameters
    stay."""

    members: int = 9
    """Agents. The first has the settings as given; those of the others are drawn around them."""
    rounds: int = 5
    """Rounds of training. Between two of them members may copy each other's weights."""
    episodes: int = 30_000
    """Episodes that each member trains for in a round."""
    window: int = 3_000
    """The last episodes of a round, whose scores are compared."""
    p: float = 0.05
    """A better mean counts if the t-test's p-value is below this."""
    optimiser_state: OptimiserState = "fresh"
    """The optimiser's state of a member that copies weights: fresh, copied too, or its own."""
