"""The code in docs/agents.md runs, and its table of presets is the code's."""

import re
from pathlib import Path

import pytest

from longpass import envs
from longpass.learners import TASK_DEFAULTS
from longpass.theory import pools_for

TEXT = (Path(__file__).parents[2] / "docs" / "agents.md").read_text()


def test_the_example_in_the_docs_runs():
    (code,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    names: dict = {}
    exec(code, names)
    assert names["told"].metrics.entropy.shape == (2,)
    assert names["told"].scores.shape == (2, 60, 8)


@pytest.mark.parametrize("env", [envs.CuedCatch(), envs.TMaze(), envs.SequenceRecall()])
def test_the_table_of_presets(env):
    defaults = TASK_DEFAULTS[env.name]
    (table,) = re.findall(r"## Presets\n(.*?)\n## ", TEXT, re.DOTALL)
    (row,) = re.findall(rf"\| {env.title} \|(.*)", table)
    pools, *numbers = (float(cell) for cell in row.split("|")[:6])
    assert pools == pools_for(float(defaults.delay(env.default_params)), 2.0)
    fields = (defaults.discount, defaults.entropy_cost, defaults.epsilon, defaults.logit_scale)
    assert numbers == [*fields, defaults.slices]
