"""The code in docs/environments.md runs."""

import re
from pathlib import Path


def test_the_example_in_the_docs_runs():
    text = (Path(__file__).parents[2] / "docs" / "environments.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names: dict = {}
    exec(code, names)
    assert names["observation"].shape == (7, 11, 5)
    assert names["observations"].shape == (8, 7, 11, 5)
