"""The random search for settings of agents: one space for all memories.

What all memories have is drawn alike, and for run i of a task it has the same values with every
memory. Each kind of memory has two settings of its own beside that. The paper's own form of the
chain, whose writer, embedding and normalisation are given, has a search of its own.
"""

import dataclasses
import math
from collections.abc import Mapping

import numpy as np

from longpass._fields import Overrides
from longpass.memory import MemoryName, has_gates, has_pools


@dataclasses.dataclass(frozen=True)
class LogUniform:
    """Numbers between two, evenly in the logarithm."""

    low: float
    high: float

    def draw(self, rng: np.random.Generator) -> float:
        value = math.exp(rng.uniform(math.log(self.low), math.log(self.high)))
        return float(f"{value:.3g}")

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}, evenly in the logarithm"


@dataclasses.dataclass(frozen=True)
class Choice:
    """One of some values, each as likely as the others."""

    values: tuple[object, ...]

    def draw(self, rng: np.random.Generator) -> object:
        return self.values[int(rng.integers(len(self.values)))]

    def __str__(self) -> str:
        return ", ".join(map(str, self.values))


Space = Mapping[str, LogUniform | Choice]
"""How settings are drawn, by field name of `AgentSettings` or its parts."""

COMMON: Space = {
    "learning_rate": LogUniform(1e-4, 3e-3),
    "epsilon": LogUniform(1e-7, 1e-3),
    "entropy_cost": LogUniform(1e-4, 3e-2),
    "discount": Choice((0.8, 0.9, 0.95, 0.99)),
    "lambda_": Choice((0.7, 1.0)),
    "envs": Choice((2, 4, 8)),
    "embedding": Choice(("sparse", "centred")),
    "threshold": Choice((0.5, 1.0, 2.0)),
    "logit_scale": Choice((0.01, 2.0)),
    "lr_halvings_per_million_steps": Choice((0.0, 0.1)),
    "entropy_halvings_per_million_steps": Choice((0.0, 0.1)),
}
"""What is drawn for every memory. Not the writer, which has a study of its own: a search over it
too would be larger. With more than 8 copies few steps of the optimiser are left."""
POOLS: Space = {"normalise": Choice((None, "layer")), "extra_pools": Choice((0, 1, 2))}
"""What is drawn for memories with pools beside that."""
GATES: Space = {"longest_time": Choice((None, 100, 300, 700)), "hidden_size": Choice((128, 256))}
"""What is drawn for memories with gates beside that."""
PAPER_FORM: Space = {
    "learning_rate": COMMON["learning_rate"],
    "epsilon": COMMON["epsilon"],
    "envs": Choice((2, 4, 8, 16)),  # IMPALA's batches are large
    "lr_halvings_per_million_steps": COMMON["lr_halvings_per_million_steps"],
    "optimiser": Choice(("adam", "rmsprop")),
    "writer_rate": Choice((0.01, 0.1, 1.0)),
    "extra_pools": Choice((0, 1, 2)),
}
"""What is drawn for the paper's own form of the chain: how it learns. What the task asks for, such
as the discount, is the task's default."""

_COMMON_STREAM, _OWN_STREAM, _PAPER_STREAM = 0, 1, 2  # of random numbers


def draw_settings(task: str, memory: MemoryName, i: int) -> Overrides:
    """The settings of run `i` of the search.

    **Arguments:**

    - `task`: the name of the world.
    - `memory`: the name of the memory.
    - `i`: which run.

    **Returns:** the drawn settings of the agent, by field name.
    """
    words = [i, *task.encode()]
    own = {**(POOLS if has_pools(memory) else {}), **(GATES if has_gates(memory) else {})}
    return _draw(COMMON, [_COMMON_STREAM, *words]) | _draw(own, [_OWN_STREAM, *words])


def draw_paper_form(task: str, i: int) -> Overrides:
    """The settings of run `i` of the search for the paper's own form of the chain.

    **Arguments:**

    - `task`: the name of the world.
    - `i`: which run.

    **Returns:** the drawn settings of the agent, by field name.
    """
    return _draw(PAPER_FORM, [_PAPER_STREAM, i, *task.encode()])


def _draw(space: Space, words: list[int]) -> Overrides:
    rng = np.random.default_rng(words)
    return {name: values.draw(rng) for name, values in space.items()}
