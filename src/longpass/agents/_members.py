"""The members of a population: member i is a pure function of the plan and i.

Appendix E of the paper.
"""

import dataclasses
import math
from pathlib import Path

import numpy as np

from longpass._fields import replace_settings
from longpass.agents._settings import PopulationPlan, RunSettings
from longpass.records import SETTINGS

POPULATION = "population.json"
"""The file of a population that holds its plan."""
MEMBERS = "members"
"""The folder with one run per member of a population."""
AUDIT = "audit.jsonl"
"""The file of a population that says who copied whom."""
SPREAD = {"learning_rate": 3.0, "entropy_cost": 3.0, "epsilon": 10.0}
"""Hyper-parameters that members differ in. Each is drawn evenly in its logarithm, between the
common value divided by this factor and the common value times it."""
_STREAM = 2  # of random numbers: no other draw of a population has it


def member_settings(plan: PopulationPlan, member: int) -> RunSettings:
    """The settings of a member. The first has the common ones.

    **Arguments:**

    - `plan`: the population.
    - `member`: its number, from 0.

    **Returns:**

    Its settings, a pure function of the population's seed and the number.
    """
    if member == 0:
        return plan.run
    rng = np.random.default_rng([plan.run.seed, member, _STREAM])
    hyper = plan.run.agent.hyper
    drawn = {name: _draw_around(rng, getattr(hyper, name), SPREAD[name]) for name in SPREAD}
    agent = replace_settings(plan.run.agent, drawn)
    return dataclasses.replace(plan.run, agent=agent, seed=int(rng.integers(2**31)))


def find_members(population: Path) -> list[Path]:
    """The folders of the members of a population that have begun.

    **Arguments:**

    - `population`: the population's folder.

    **Returns:**

    The folders in the order of their numbers; none if the population has just begun.
    """
    folders = (path.parent for path in (Path(population) / MEMBERS).glob(f"*/{SETTINGS}"))
    return sorted((one for one in folders if one.name.isdecimal()), key=lambda one: int(one.name))


def _draw_around(rng: np.random.Generator, middle: float, spread: float) -> float:
    factor = math.exp(rng.uniform(-math.log(spread), math.log(spread)))
    return float(f"{middle * factor:.4g}")
