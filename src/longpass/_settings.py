"""Settings as plain fields, where the command line can read them without loading JAX.

`longpass.agents.configure` makes a run of agents from its fields.
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
    Writer,
)


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
