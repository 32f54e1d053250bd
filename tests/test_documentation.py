"""What the documentation says, runs."""

import doctest
import importlib
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import default_environment

ROOT = Path(__file__).parent.parent
# Where an example computes one of these, it must be so.
RESULTS = {
    "logits": "logits.shape == (32, 300, 4)",
    "gradients": "any(x.any() for x in jax.tree.leaves(gradients['params']['memory']))",
    "state, result": "result.metrics.entropy.shape == (2,) and result.scores.shape == (2, 60, 8)",
}


def examples(page: Path) -> list[str]:
    """The Python examples of a page."""
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)


def test_the_readme_has_an_example():
    assert examples(ROOT / "README.md")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "place"),
    [
        (page.relative_to(ROOT).as_posix(), place)
        for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
        for place in range(len(examples(page)))
    ],
)
def test_examples_run_as_they_stand(page, place):
    """In a process of their own, as a reader would: single precision, no type checks."""
    code = examples(ROOT / page)[place]
    checks = [check for name, check in RESULTS.items() if f"{name} = " in code]
    code = "\n".join([code, *(f"assert {check}" for check in checks)])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=default_environment()
    )
    assert done.returncode == 0, done.stderr
    # What an example prints of both memories is what its page says.
    for name, accuracy in re.findall(r"^(Concrete|LSTM) +([\d.]+)$", done.stdout, re.MULTILINE):
        assert (float(accuracy) > 0.9) == (name == "Concrete"), done.stdout


@pytest.mark.slow
def test_recall_example():
    """In a process of its own, since it is about single precision."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples/recall.py")],
        capture_output=True,
        text=True,
        env=default_environment(),
    )
    assert done.returncode == 0, done.stderr
    accuracies = dict(re.findall(r"(\w+) +([\d.]+) right", done.stdout))
    assert float(accuracies["Concrete"]) > 0.9
    assert float(accuracies["LSTM"]) < 0.4


@pytest.mark.slow
def test_linear_memory_example(capsys):
    result = runpy.run_path(str(ROOT / "examples/linear_memory.py"))["main"]()
    assert result["pool chain"] < 1e-12
    assert result["lstm"] > 0.1
    assert "pool chain" in capsys.readouterr().out


@pytest.mark.slow
def test_successor_features_example():
    result = runpy.run_path(str(ROOT / "examples/successor_features.py"))["main"]()
    assert result["exact"] < 1e-12
    assert result["sampled"] < 0.03


DOCTESTS = [
    "longpass._rates",
    "longpass.theory._filters",
    *(f"longpass.memory._{name}" for name in ("gru", "links", "lstm", "pools")),
    *(f"longpass.networks._{name}" for name in ("classifier", "memories")),
    pytest.param("longpass.memory._concrete", marks=pytest.mark.slow),
    pytest.param("longpass.networks._actor_critic", marks=pytest.mark.slow),
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
