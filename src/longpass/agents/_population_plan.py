"""Who is in a population: member i is a pure function of the common settings and i."""

import dataclasses
import math
from typing import Any, get_args

import numpy as np

from longpass import _checks
from longpass._names import OptimiserState
from longpass._settings import PopulationFields
from longpass.agents._config import Config

# Each is drawn evenly in its logarithm, from the common value divided by this to it times this.
# What is bound to the task (discount, clipping, the network's form) is the same for all.
SPREAD = {"learning_rate": 3.0, "entropy_cost": 3.0, "epsilon": 10.0}
_STREAM = 2  # of random numbers: no other draw of a population has it


@dataclasses.dataclass(frozen=True, kw_only=True)
class Members(PopulationFields):
    """A population's plan. A population of one is a single run, to the bit."""

    config: Config
    """What all members share; its seed is the population's."""

    def check(self) -> None:
        """ValueError or TypeError where a setting is impossible, before any work starts."""
        for name in ("members", "rounds", "episodes"):
            _checks.positive_int(name, getattr(self, name))
        _checks.int_within("window", self.window, 2, self.episodes)
        if not 0.0 <= _checks.real("p", self.p) <= 1.0:
            raise ValueError(f"p is {self.p}: it must be 0 to 1")
        _checks.one_of("optimiser_state", self.optimiser_state, get_args(OptimiserState))
        _checks.int_within("seed", self.config.seed, 0, None)
        if self.config.gym:
            raise ValueError(
                f"task is {self.config.task!r}: it must be one of the three worlds, for a "
                f"Gymnasium environment cannot be saved between rounds"
            )
        self.config.check()

    def member(self, i: int) -> Config:
        """The settings of member i, its own for good. The first has the common ones."""
        if i == 0:
            return self.config
        rng = np.random.default_rng([self.config.seed, i, _STREAM])
        drawn = {
            name: _around(rng, self.config.hyper[name], spread) for name, spread in SPREAD.items()
        }
        seed = int(rng.integers(2**31))
        return dataclasses.replace(self.config, hyper=self.config.hyper | drawn, seed=seed)

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return dataclasses.asdict(self)


def _around(rng: np.random.Generator, middle: float, spread: float) -> float:
    factor = math.exp(rng.uniform(-math.log(spread), math.log(spread)))
    return float(f"{middle * factor:.4g}")
