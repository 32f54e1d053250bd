"""Layers import only from layers above them."""

import ast
from pathlib import Path

import longpass
from tests.conftest import SLOW

# Top to bottom. A file directly in the package (such as _checks.py) is open to all.
LAYERS = (
    "theory",
    "memory",
    "networks",
    "tasks",
    "envs",
    "results",
    "learners",
    "search",
    "studies",
    "cli",
)
SOURCE = Path(longpass.__file__).parent


def imported(path: Path) -> set[str]:
    """Names of longpass' own packages that a file imports, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    parts = [name.split(".") for name in names]
    return {part[1] for part in parts if part[0] == "longpass" and len(part) > 1} & set(LAYERS)


def test_every_package_is_a_layer():
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert packages == set(LAYERS)


def test_types_are_checked_in_every_package_but_cli(pytestconfig):
    *checked, _ = pytestconfig.getoption("jaxtyping_packages").split(",")
    assert set(checked) == {f"longpass.{layer}" for layer in LAYERS if layer != "cli"}


def test_layers_import_upwards_only():
    seen = 0
    for place, layer in enumerate(LAYERS):
        for path in (SOURCE / layer).rglob("*.py"):
            found = imported(path)
            seen += len(found)
            assert found <= set(LAYERS[: place + 1]), f"{path} imports {found} from below"
    assert seen > 10, "the test found too few imports to mean anything"


def test_what_is_open_to_all_imports_no_layer():
    for path in SOURCE.glob("*.py"):
        assert not imported(path), path


def test_every_pattern_of_slow_tests_names_some():
    here = Path(__file__).parent
    for pattern in SLOW:
        assert list(here.glob(pattern)), pattern
