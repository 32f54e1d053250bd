"""The table of defaults in docs/agents.md has the numbers of the code."""

import re
from pathlib import Path

import pytest

from longpass import envs
from longpass.agents import TASK_DEFAULTS

TEXT = (Path(__file__).parents[2] / "docs" / "agents.md").read_text()


@pytest.mark.parametrize("env", [envs.CuedCatch(), envs.TMaze(), envs.SequenceRecall()])
def test_the_table_of_defaults(env):
    """The numbers in a task's row are its defaults, in whatever columns."""
    defaults = TASK_DEFAULTS[env.name]
    (row,) = re.findall(rf"^\| {env.title} \|(.*)$", TEXT, re.MULTILINE)
    numbers = [float(cell) for cell in row.split("|") if re.fullmatch(r"\s*[\d.e-]+\s*", cell)]
    names = ("discount", "entropy_cost", "epsilon", "threshold", "logit_scale", "slices")
    declared = [defaults.pools(env.default_params), *(getattr(defaults, name) for name in names)]
    assert sorted(numbers) == sorted(declared)
