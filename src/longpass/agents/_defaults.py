"""What works on each task: where a training begins unless flags say otherwise."""

import dataclasses
from typing import Any

from longpass._names import Embedding, Family
from longpass.theory import pools_for


@dataclasses.dataclass(frozen=True)
class TaskDefaults:
    """Settings for one task; docs/agents.md says how they were found."""

    more_pools: int = 0
    """Pools beyond the fewest that reach the task's memory span: slower ones show the oldest."""
    envs: int = 8
    """Few copies: as fast a step as with more, and more updates for as much play."""
    rollout: int = 300
    learning_rate: float = 1e-3
    entropy_cost: float = 2e-3
    discount: float = 0.99
    epsilon: float = 1e-6
    clip_norm: float = 1.0
    halvings: float = 0.0
    reward_scale: float = 1.0
    embedding: Embedding = "sparse"
    threshold: float = 1.0
    """Of the embedding that is not plain."""
    logit_scale: float = 0.01
    lambda_: float = 1.0
    slices: int = 5
    """The most slices; as few as `block_every` needs where gradients reach further."""

    def pools(self, span: int) -> int:
        """How many pools for a task that needs memory over `span` steps."""
        return self.more_pools + pools_for(float(span), 2.0)


TASK_DEFAULTS: dict[str, TaskDefaults] = {
    # An action is paid for within seven frames: a short discount leaves little else to explain. A
    # cue and its ball must be one feature, and the sparser the embedding, the more of it is such.
    # At half this rate one seed of six stayed at 57 of 60 until 4.7 million steps; at this, none.
    "cued_catch": TaskDefaults(learning_rate=2e-3, discount=0.8, epsilon=1e-4, threshold=2.0),
    # Goals are far: uniform play never meets one, so the first policy is uneven and the entropy's
    # weight low. A whole rollout for V-trace to look ahead tells the first step into an arm what
    # came of it some fifty steps later. Limbo, most of the time and the same for all, is taken out.
    "t_maze": TaskDefaults(
        more_pools=1,
        entropy_cost=2e-4,
        epsilon=1e-3,
        embedding="centred",
        logit_scale=2.0,
        slices=1,
    ),
    # The first two lights are told apart by the slowest pools, and all four by how they differ from
    # each other: what lights have in common is taken away. Few frames count, so that gradients are
    # noisy: a falling rate averages over more of them, and a lambda below 1 does not blame a step
    # for what later ones, which the value sees coming, gain or lose. A shorter discount would make
    # the nearest light worth more than the right one.
    "sequence_recall": TaskDefaults(
        more_pools=2,
        learning_rate=5e-4,
        entropy_cost=1e-2,
        discount=0.95,
        halvings=0.1,
        embedding="centred",
        lambda_=0.7,
    ),
}
# For any other environment: nothing is known of it.
GYM_DEFAULTS = TaskDefaults(learning_rate=5e-4, entropy_cost=1e-2, rollout=60)
GYM_SPAN = 100
"""Over how many steps a Gymnasium environment is taken to need memory."""


def conditioning(family: Family, embedding: Embedding = "sparse") -> dict[str, Any]:
    """Our conditioning of a network: what the paper's own form is compared with."""
    has_pools = family in ("chain", "parallel")
    return {
        "writer": "frozen",
        "embedding": embedding,
        "normalise": "layer" if has_pools else "none",
    }


PAPER = {"writer": "learned", "embedding": "plain", "normalise": "none"}
"""The paper's own form, as far as it says."""
