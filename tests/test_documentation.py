"""What the documentation says, runs."""

import doctest
import importlib
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BLOCKS = [
    pytest.param(block, id=f"{page} {number}")
    for page in ("README.md", "docs/memory.md")
    for number, block in enumerate(
        re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    )
]


@pytest.mark.parametrize("block", BLOCKS)
def test_python_in_the_documents_runs_as_it_stands(block):
    """In a process of its own, as for a reader: single precision, no type checks."""
    assert "assert" in block, "an example says what comes of it"
    done = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_recall_example():
    """In a process of its own, since it is about single precision."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples/recall.py")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    accuracies = dict(re.findall(r"(\w+) +([\d.]+) right", done.stdout))
    assert float(accuracies["Concrete"]) > 0.9
    assert float(accuracies["LSTM"]) < 0.4


def test_linear_memory_example(capsys):
    result = runpy.run_path(str(ROOT / "examples/linear_memory.py"))["main"]()
    assert result["pool chain"] < 1e-12
    assert result["lstm"] > 0.1
    assert "pool chain" in capsys.readouterr().out


def test_successor_features_example():
    result = runpy.run_path(str(ROOT / "examples/successor_features.py"))["main"]()
    assert result["exact"] < 1e-12
    assert result["sampled"] < 0.03


DOCTESTS = [
    "longpass._rates",
    "longpass.theory._filters",
    *(f"longpass.memory._{name}" for name in ("concrete", "gru", "links", "lstm", "pools")),
    *(f"longpass.networks._{name}" for name in ("actor_critic", "classifier", "memories")),
]


@pytest.mark.parametrize("name", DOCTESTS)
def test_docstring_examples(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0


def test_no_registry_host_and_no_path_of_a_machine():
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    banned = re.compile(r"pypi\.org|pythonhosted|registry\.npmjs|/(work|root|tmp/bash_jobs)/")
    for name in tracked:
        path = ROOT / name
        if path.suffix in {".png", ".npz", ".gif"} or name == "tests/test_documentation.py":
            continue
        assert not banned.search(path.read_text()), name
