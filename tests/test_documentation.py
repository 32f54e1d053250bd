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
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


def test_readme_has_both_examples():
    assert len(BLOCKS) == 2
    assert "equinox" in BLOCKS[0]
    assert "flax" in BLOCKS[1]


@pytest.mark.parametrize("place", range(len(BLOCKS)), ids=["equinox", "flax"])
def test_readme_examples_run_as_they_stand(place):
    """In a process of their own, as a reader would: single precision, no type checks."""
    check = {
        0: "assert logits.shape == (32, 300, 4)",
        1: "assert any(leaf.any() for leaf in jax.tree.leaves(gradients['params']['memory']))",
    }[place]
    done = subprocess.run(
        [sys.executable, "-c", f"{BLOCKS[place]}\n{check}"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_linear_memory_example(capsys):
    result = runpy.run_path(str(ROOT / "examples/linear_memory.py"))["main"]()
    assert result["pool chain"] < 1e-12
    assert result["lstm"] > 0.1
    assert "pool chain" in capsys.readouterr().out


def test_successor_features_example():
    result = runpy.run_path(str(ROOT / "examples/successor_features.py"))["main"]()
    assert result["exact"] < 1e-12
    assert result["sampled"] < 0.03


@pytest.mark.parametrize("name", ["longpass._rates", "longpass.theory._filters"])
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
