"""What the documentation says, runs."""

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
    "state, result": "result.metrics.entropy.shape == (2,) and result.scores.shape == (2, 60, 8)",
}


def examples(page: Path) -> list[str]:
    """The Python examples of a page, with checks of what they compute."""
    codes = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    checks = [[f"assert {RESULTS[name]}" for name in RESULTS if f"{name} = " in x] for x in codes]
    return ["\n".join([code, *more]) for code, more in zip(codes, checks, strict=True)]


PAGES = [
    page.relative_to(ROOT).as_posix()
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if examples(page)
]
# Starting a process takes longer than most examples, so pages share a few.
GROUPS = {
    "ray": [page for page in PAGES if "cluster" in page],
    "torch": [page for page in PAGES if "torch" in page],
}
GROUPS["jax"] = [page for page in PAGES if page not in GROUPS["ray"] + GROUPS["torch"]]


def test_the_readme_has_an_example():
    assert examples(ROOT / "README.md")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in GROUPS]
)
def test_examples_run_as_they_stand(name):
    """Outside this process, as a reader would: single precision, no type checks. Examples run one
    after the other, each with names of its own."""
    script = ["import sys"]
    for page in GROUPS[name]:
        # tests/test_package.py runs the README's first example in an empty environment.
        for code in examples(ROOT / page)[1 if page == "README.md" else 0 :]:
            script += [f"print({page!r}, file=sys.stderr)"]
            script += [f"exec({code!r}, {{'__name__': '__main__'}})"]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(script)],
        capture_output=True,
        text=True,
        env=default_environment(),
    )
    assert done.returncode == 0, done.stderr
    # What an example prints of both memories is what its page says.
    for name, accuracy in re.findall(r"^(Concrete|LSTM) +([\d.]+)$", done.stdout, re.MULTILINE):
        assert (float(accuracy) > 0.9) == (name == "Concrete"), done.stdout


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


def test_no_registry_host_and_no_path_of_a_machine():
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    banned = re.compile(r"pypi\.org|pythonhosted|registry\.npmjs|/(work|root|tmp/bash_jobs)/")
    for name in tracked:
        path = ROOT / name
        if (
            path.suffix in {".png", ".npz", ".gif", ".safetensors"}
            or name == "tests/test_documentation.py"
        ):
            continue
        assert not banned.search(path.read_text()), name
