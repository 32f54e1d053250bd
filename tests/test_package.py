"""What `pip install longpass` gives: a light core, and extras that are named where they miss."""

import json
import os
import re
import subprocess
import sys
import tomllib
import venv
from importlib import metadata
from pathlib import Path

import pytest

from longpass._extras import EXTRAS, explain_missing

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# Distributions whose modules have another name.
MODULES = {"pillow": "PIL", "sb3-contrib": "sb3_contrib"}


def read_names(requirements: list[str]) -> set[str]:
    """The modules of some requirements, without those of our own extras."""
    names = {one.replace("[", ">").split(">")[0].split("=")[0] for one in requirements}
    return {MODULES.get(name, name) for name in names if name != "longpass"}


def test_every_extra_has_the_modules_that_errors_name():
    for module, extra in EXTRAS.items():
        assert module in read_names(PROJECT["optional-dependencies"][extra]), module
    named = set(EXTRAS)
    of_users = ("train", "figures", "cli", "gym", "native", "ray", "tensorboard", "torch", "web")
    for extra in of_users:
        assert read_names(PROJECT["optional-dependencies"][extra]) <= named, extra


def test_an_error_about_another_module_stays_as_it_is():
    error = ModuleNotFoundError("No module named 'nobody'", name="nobody")
    assert explain_missing(error, "longpass.memory") is error


def test_the_version_is_declared_once():
    assert metadata.version("longpass") == PROJECT["version"]
    assert f"version: {PROJECT['version']}" in (ROOT / "CITATION.cff").read_text()


# One environment serves all of these, so one process runs them.
shared = pytest.mark.xdist_group("core")


@pytest.fixture(scope="module")
def core(tmp_path_factory) -> Path:
    """The Python of an environment that has the built wheel and its dependencies only."""
    folder = tmp_path_factory.mktemp("core")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", folder, ROOT], check=True)
    (wheel,) = folder.glob("longpass-*.whl")
    venv.create(folder / "env", with_pip=False)
    python = folder / "env" / "bin" / "python"
    install = [*pip, "--python", python, "install", "--no-compile", wheel]
    subprocess.run(install, check=True)
    return python


def run(python: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the core's Python outside the repository, where there is no git either."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["PATH"] = str(python.parent)
    return subprocess.run(
        [python, *words], cwd=python.parent, env=environment, capture_output=True, text=True
    )


@shared
@pytest.mark.slow
def test_the_core_works_alone(core, record_property):
    script = """
import json, sys, time
begin = time.perf_counter()
import jax.numpy as jnp, jax
jax_seconds = time.perf_counter() - begin
import longpass
memory = longpass.Concrete(3, 8, num_pools=4, pool_size=5, key=jax.random.key(0))
seconds = time.perf_counter() - begin - jax_seconds
_, ys = memory.unroll(memory.initial_state(), jnp.ones((7, 3)), block_every=2)
assert ys.shape == (7, 8), ys.shape
foreign = {"optax", "polars", "matplotlib", "PIL", "rich", "tyro", "torch"}
foreign |= {"scipy.signal", "scipy.stats"}
assert not foreign & set(sys.modules), foreign & set(sys.modules)
print(json.dumps({"jax seconds": jax_seconds, "longpass seconds": seconds}))
"""
    done = run(core, "-c", script)
    assert done.returncode == 0, done.stderr
    for name, value in json.loads(done.stdout).items():
        record_property(name, value)
    packages = core.parent.parent / "lib"
    sizes = {
        "environment MB": packages,
        "longpass MB": next(packages.glob("python*/site-packages/longpass")),
    }
    for name, folder in sizes.items():
        size = sum(one.stat().st_size for one in folder.rglob("*") if one.is_file()) / 1e6
        record_property(name, size)
        print(f"{name}: {size:.1f}")


@shared
@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("longpass.streams.StreamTraining", "pip install 'longpass[train]'"),
        ("longpass.agents.AgentSettings", "needs tyro: pip install 'longpass[train]'"),
        ("longpass.torch.Concrete", "needs torch: pip install 'longpass[torch]'"),
        ("longpass.figures", "needs tyro: pip install 'longpass[figures]'"),
        ("longpass.report.Store", "pip install 'longpass[web]'"),
        ("import longpass.envs.gym", "needs gymnasium: pip install 'longpass[gym]'"),
    ],
)
def test_a_missing_extra_is_named(core, statement, message):
    done = run(core, "-c", f"import longpass\n{statement}")
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ModuleNotFoundError: ")
    assert message in last


@shared
@pytest.mark.slow
def test_the_command_says_what_it_needs(core):
    done = run(core, "-m", "longpass", "pools")
    assert done.returncode == 1
    assert done.stderr.startswith("longpass: the command line needs ")
    assert "pip install 'longpass[cli]'" in done.stderr


@shared
@pytest.mark.slow
def test_a_newcomer_can_do_what_the_readme_says(core):
    """Last, because it installs the extra that the example needs."""
    train = PROJECT["optional-dependencies"]["train"]
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--python", core]
    subprocess.run([*pip, "install", "--no-compile", *train], check=True)
    example = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[0]
    done = run(core, "-c", example)
    assert done.returncode == 0, done.stderr
    (concrete, first), (lstm, second) = (line.split() for line in done.stdout.splitlines())
    assert (concrete, lstm) == ("Concrete", "LSTM")
    assert float(first) > 0.95
    assert float(second) < 0.35


def test_the_readme_is_short_and_its_links_lead_somewhere():
    text = (ROOT / "README.md").read_text()
    assert len(text.split()) < 900
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) > 10
    for link in links:
        if not link.startswith("https://arxiv.org/"):
            path, _, anchor = link.partition("#")
            assert (ROOT / path).exists(), link
            titles = re.findall(r"^#+ (.+)$", (ROOT / path).read_text(), re.M) if anchor else []
            anchors = [title.lower().replace(" ", "-") for title in titles]
            assert not anchor or anchor in anchors, link
    assert (ROOT / "docs/images/t-maze.gif").stat().st_size < 2e6
