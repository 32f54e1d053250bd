"""Packages import in one direction, and only each other's public names."""

import ast
import itertools
import re
import subprocess
import sys
from pathlib import Path

import pytest

import longpass
from tests.conftest import SLOW

# What each package may import. A file directly in `longpass` (such as _checks.py) is open to all.
MAY_IMPORT = {
    "theory": set(),
    "records": set(),
    "jobs": set(),
    "memory": {"theory"},
    "networks": {"theory", "memory"},
    "torch": {"theory"},
    "testing": {"memory"},
    "envs": set(),
    "streams": {"theory", "memory", "networks", "records", "jobs"},
    "agents": {"theory", "memory", "networks", "envs", "records", "jobs"},
    "claims": {"records", "streams", "agents"},
    "figures": {"theory", "memory", "networks", "envs", "records", "streams", "agents"},
    "report": {"envs", "records", "streams", "agents", "claims", "figures"},
    "cli": {
        "theory",
        "testing",
        "networks",
        "envs",
        "records",
        "jobs",
        "streams",
        "agents",
        "claims",
        "figures",
        "report",
    },
}
SOURCE = Path(longpass.__file__).parent
PAGE = (Path(__file__).parent.parent / "ARCHITECTURE.md").read_text()


def imported(path: Path) -> set[str]:
    """Dotted names within longpass that a file imports, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path} has a relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.removeprefix("longpass.") for name in names if name.startswith("longpass.")}


def imports_of(package: str) -> list[tuple[Path, str]]:
    """(File, dotted name) of every import from another package of longpass."""
    return [
        (path, name)
        for path in (SOURCE / package).rglob("*.py")
        for name in sorted(imported(path))
        if name.split(".")[0] in MAY_IMPORT and name.split(".")[0] != package
    ]


def test_every_package_has_a_place():
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert packages == set(MAY_IMPORT)


def test_types_are_checked_in_every_package_but_two(pytestconfig):
    *checked, _ = pytestconfig.getoption("jaxtyping_packages").split(",")
    left_out = {"cli", "torch"}
    assert set(checked) == {f"longpass.{package}" for package in set(MAY_IMPORT) - left_out}


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_a_package_imports_in_one_direction(package):
    for path, name in imports_of(package):
        assert name.split(".")[0] in MAY_IMPORT[package], f"{path} imports {name}"


def test_no_private_name_is_imported_across_packages():
    found = [one for package in MAY_IMPORT for one in imports_of(package)]
    assert len(found) > 30, "the test found too few imports to mean anything"
    for path, name in found:
        private = [part for part in name.split(".")[1:] if part.startswith("_")]
        assert not private, f"{path} imports {name}"


def test_what_is_open_to_all_imports_no_package():
    for path in SOURCE.glob("_*.py"):
        if path.name == "__main__.py":
            continue
        packages = {name.split(".")[0] for name in imported(path)} & set(MAY_IMPORT)
        assert not packages, path


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_the_page_has_every_file_of_a_package_and_no_other(package):
    section = PAGE.partition(f"\n### `{package}`\n")[2].partition("\n#")[0]
    rows = re.findall(r"^\| (`.+?) \|", section, re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`(\w+\.py)`", row)]
    files = {path.name for path in (SOURCE / package).glob("*.py")} - {"__init__.py"}
    assert sorted(named) == sorted(files)


@pytest.mark.parametrize("command", ["classify", "train", "pbt", "figure rl"])
def test_the_way_of_the_data_is_short_and_enters_no_package_twice(command):
    way = PAGE.partition(f"**`longpass {command}`**\n")[2].partition("\n\n**")[0]
    files = re.findall(r"^\d+\. `(\w+/\w+\.py)`", way.partition("\n## ")[0], re.MULTILINE)
    assert 5 < len(set(files)) == len(files) <= 15
    assert all((SOURCE / file).is_file() for file in files), files
    packages = [package for package, _ in itertools.groupby(file.split("/")[0] for file in files)]
    assert len(set(packages)) == len(packages), packages


@pytest.mark.parametrize(
    "names",
    [
        "longpass.streams: StreamSettings SweepPlan",
        "longpass.agents: AgentSettings TASK_DEFAULTS",
        "longpass.envs: TMazeParams WORLDS",
        "longpass.records: Records",
        "longpass.jobs: LocalEngine",
        "longpass.claims: evaluate_classification",
        "longpass.report: Store Follower write_report",
        "longpass.cli: main",
    ],
)
def test_settings_and_drivers_do_not_load_jax(names):
    module, wanted = names.split(": ")
    script = (
        f"import sys; from {module} import {wanted.replace(' ', ', ')}; "
        f"sys.exit('jax' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0


def test_a_command_is_imported_alone():
    script = (
        "import sys; from longpass.cli import load_command; load_command('pools'); "
        "sys.exit(any(name in sys.modules for name in ('longpass.cli._train', 'longpass.agents')))"
    )
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0


def test_every_pattern_of_slow_tests_names_some():
    here = Path(__file__).parent
    for pattern in SLOW:
        assert list(here.glob(pattern)), pattern
