"""The code in docs/agents.md runs, and its table of defaults is the code's."""

import re
from pathlib import Path

import pytest

from longpass import envs
from longpass.agents import TASK_DEFAULTS

TEXT = (Path(__file__).parents[2] / "docs" / "agents.md").read_text()


def test_the_example_in_the_docs_runs():
    (code,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    names: dict = {}
    exec(code, names)
    assert names["told"].metrics.entropy.shape == (2,)
    assert names["told"].scores.shape == (2, 60, 8)


@pytest.mark.parametrize("task", TASK_DEFAULTS)
def test_the_table_of_defaults(task):
    env, _ = envs.make(task.replace("_", "-"))
    defaults = TASK_DEFAULTS[task]
    (table,) = re.findall(r"## Defaults\n(.*?)\n## ", TEXT, re.DOTALL)
    (row,) = re.findall(rf"\| {env.title} \|(.*)", table)
    pools, *numbers = (float(cell) for cell in row.split("|")[:7])
    assert pools == defaults.pools(env.memory_span(env.default_params))
    names = ("discount", "entropy_cost", "epsilon", "threshold", "logit_scale", "slices")
    assert numbers == [getattr(defaults, name) for name in names]
