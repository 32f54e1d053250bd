"""Run the fast tests on every Python found, with the newest and the oldest dependencies allowed.

`make matrix` calls this. Interpreters are looked for on PATH and, if the command exists, in pyenv.
Each pair of Python and versions gets a virtual environment in .matrix/, which is kept: the newest
versions are upgraded on every call, the oldest are installed once per set of bounds.

    python scripts/matrix.py                                   all
    python scripts/matrix.py --python 3.12 --versions oldest   one cell
    python scripts/matrix.py tests/theory -x                   other arguments go to pytest
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
MATRIX = ROOT / ".matrix"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
VERSIONS = ("newest", "oldest")
# Ray is left out: no fast test needs it.
EXTRAS = ("test", "gym", "native", "tensorboard", "web")
# What the table shows of each environment.
SHOWN = ("jax", "numpy", "polars", "equinox")


class Cell(NamedTuple):
    """One row of the table."""

    python: str
    versions: str
    installed: str
    result: str
    ok: bool


def find_interpreters() -> dict[str, Path]:
    """Find one interpreter per minor version of Python that can make virtual environments."""
    candidates = [shutil.which(f"python{version}") for version in PYTHONS]
    if shutil.which("pyenv"):
        for name in _output("pyenv", "versions", "--bare").split():
            prefix = _output("pyenv", "prefix", name)
            candidates.append(f"{prefix}/bin/python" if prefix else None)
    question = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
    found: dict[str, Path] = {}
    for candidate in candidates:
        # A shim of pyenv may be on PATH and yet fail: only an interpreter that answers counts.
        version = _output(candidate, "-c", question) if candidate else ""
        if candidate and version in PYTHONS:
            found.setdefault(version, Path(candidate))
    return dict(sorted(found.items(), key=lambda item: PYTHONS.index(item[0])))


def read_project() -> dict[str, Any]:
    """Read the table [project] of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def read_lower_bounds() -> list[str]:
    """Read the lower bounds of our dependencies as constraints: `numpy>=2.1` gives `numpy==2.1`."""
    project = read_project()
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"]]
    for extra in ("train", "figures", "cli", "gym", "tensorboard", "web"):
        wanted += extras[extra]
    constraints = []
    for requirement in wanted:
        if requirement.startswith("longpass["):
            continue
        match = re.match(r"([\w.-]+)(?:\[[^]]*\])?\s*>=\s*([\w.]+)", requirement)
        if match is None:
            raise SystemExit(f"{requirement!r} in pyproject.toml has no lower bound")
        constraints.append(f"{match[1]}=={match[2]}")
    return constraints


def prepare_environment(interpreter: Path, version: str, versions: str) -> Path:
    """Make or refresh one virtual environment.

    **Arguments:**

    - `interpreter`: the Python to make it with.
    - `version`: its minor version, such as "3.12".
    - `versions`: "newest" or "oldest".

    **Returns:** the environment's Python.
    """
    folder = MATRIX / f"{version}-{versions}"
    python, stamp = folder / "bin" / "python", folder / "installed.txt"
    project = read_project()
    wanted = [project["dependencies"], project["optional-dependencies"], str(interpreter)]
    state = json.dumps(wanted, indent=1)
    fresh = stamp.exists() and stamp.read_text() == state
    if fresh and versions == "oldest":
        return python
    if not fresh:
        subprocess.run([interpreter, "-m", "venv", folder], check=True)
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    # A package that has no wheel for this Python is not supported on it.
    install += ["--only-binary=:all:"]
    if versions == "oldest":
        (folder / "constraints.txt").write_text("\n".join(read_lower_bounds()) + "\n")
        install += ["--constraint", folder / "constraints.txt"]
    else:
        install += ["--upgrade", "--upgrade-strategy=eager"]
    subprocess.run([*install, "--editable", f"{ROOT}[{','.join(EXTRAS)}]"], check=True)
    stamp.write_text(state)
    return python


def run_tests(python: Path, versions: str, workers: int, arguments: list[str]) -> tuple[str, bool]:
    """Run the fast tests.

    **Returns:** pytest's last line and whether all passed.
    """
    command = [python, "-m", "pytest", "-m", "not slow", "-n", str(workers), "--dist", "loadgroup"]
    if versions == "oldest":
        # Old packages use what newer ones beneath them have deprecated: that is not our defect.
        command += ["-W", "ignore::DeprecationWarning"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [*command, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    if done.returncode:
        print(done.stdout[-8000:], done.stderr[-2000:], sep="\n", file=sys.stderr, flush=True)
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    return (lines[-1].strip("= ") if lines else "pytest did not start"), done.returncode == 0


def run_cell(interpreter: Path, version: str, versions: str, args: argparse.Namespace) -> Cell:
    """Install one environment, test in it, and describe both."""
    try:
        python = prepare_environment(interpreter, version, versions)
    except subprocess.CalledProcessError as error:
        return Cell(version, versions, "", f"not installed (exit code {error.returncode})", False)
    code = (
        "import importlib.metadata as m, platform; "
        f"print(platform.python_version(), *(m.version(name) for name in {SHOWN!r}))"
    )
    full, *numbers = _output(python, "-c", code).split()
    installed = ", ".join(f"{name} {number}" for name, number in zip(SHOWN, numbers, strict=True))
    result, ok = run_tests(python, versions, args.workers, args.pytest)
    return Cell(full, versions, installed, result, ok)


def print_table(table: list[Cell]) -> None:
    """Print one line per environment."""
    rows = [("Python", "versions", "installed", "result"), *(cell[:4] for cell in table)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print(
            "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        )


def _output(*command: str | Path) -> str:
    """What a command prints, without surrounding space; nothing if it fails."""
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", choices=PYTHONS, nargs="+", help="only these, default all")
    parser.add_argument("--versions", choices=VERSIONS, nargs="+", default=VERSIONS)
    parser.add_argument("--workers", type=int, default=2, help="processes of pytest")
    args, args.pytest = parser.parse_known_args()
    found = find_interpreters()
    cells = []
    for version in args.python or found:
        if version not in found:
            raise SystemExit(f"python is {version}: found only {', '.join(found) or 'none'}")
        for versions in args.versions:
            began = time.monotonic()
            cell = run_cell(found[version], version, versions, args)
            seconds = time.monotonic() - began
            print(f"{cell.python} {versions}: {cell.result} [{seconds:.0f} s]", flush=True)
            cells.append(cell)
    print()
    print_table(cells)
    sys.exit(not all(cell.ok for cell in cells))


if __name__ == "__main__":
    main()
