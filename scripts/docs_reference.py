"""Pages of reference that are made from the program: every public name, command and setting."""

import ast
import contextlib
import io
import itertools
import os
import textwrap
from pathlib import Path

from docs_pages import SOURCE
from tables_settings import agent_tables, defaults_table, plain_table

# Packages whose names are not for import: the command line has a page of its own.
_WITHOUT_API = ("cli",)
# Public modules of packages, which are imported by their own name.
_MODULES = {"envs": ("gym", "film"), "torch": ("sb3",)}
COLUMNS = 84


def list_packages() -> list[str]:
    """The packages that have a page of their names."""
    packages = sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))
    return [package for package in packages if package not in _WITHOUT_API]


def read_names(package: str) -> dict[str, list[str]]:
    """The public names of a package, by the file that they are from.

    **Arguments:**

    - `package`: its name, such as `memory`.

    **Returns:**

    Lists of names. Names of `__init__.py` itself have the key `__init__`.
    """
    stub = SOURCE / package / "__init__.pyi"
    file = stub if stub.exists() else stub.with_suffix(".py")
    names: dict[str, list[str]] = {}
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            found = [alias.asname for alias in node.names if alias.asname]
            if found:
                names.setdefault(node.module.rpartition(".")[2], []).extend(found)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            names.setdefault("__init__", []).append(node.name)
    return names


def make_api_page(package: str) -> str:
    """The page of a package: its docstring, then its names, file by file.

    **Arguments:**

    - `package`: its name.
    """
    folder = SOURCE / package
    parts = [f"# longpass.{package}", _docstring(folder / "__init__.py")]
    for module, names in read_names(package).items():
        if module != "__init__":
            summary = _docstring(folder / f"{module}.py").split("\n\n")[0].replace("\n", " ")
            parts.append(f"## {summary.removesuffix('.')}")
        parts += [_directive(f"longpass.{package}.{name}", 3) for name in names]
    for module in _MODULES.get(package, ()):
        parts.append(f"## `longpass.{package}.{module}`")
        parts.append(_directive(f"longpass.{package}.{module}", 3, heading=False))
    return "\n\n".join(parts) + "\n"


def _directive(name: str, level: int, heading: bool = True) -> str:
    options = {"heading_level": level, "show_root_heading": str(heading).lower()}
    if name.startswith("longpass.torch."):
        # Modules of PyTorch say in a class that is not public how they are made and called.
        options["inherited_members"] = "[__init__, forward]"
    lines = [f"      {option}: {value}" for option, value in options.items()]
    return "\n".join([f"::: {name}", "    options:", *lines])


def _docstring(path: Path) -> str:
    """The docstring of a module, with its indented blocks as blocks of Python."""
    text = ast.get_docstring(ast.parse(path.read_text())) or ""
    lines = []
    for indented, group in itertools.groupby(
        text.split("\n"), lambda line: line.startswith("    ")
    ):
        block = [line.removeprefix("    ") for line in group]
        lines += ["```python", *block, "```"] if indented else block
    return "\n".join(lines)


def make_commands_page() -> str:
    """The page of every command with its flags, as `--help` prints them."""
    from longpass.cli import COMMANDS

    parts = [
        "# Every command with its flags",
        "What `longpass COMMAND --help` prints. [Command line](../cli.md) is the overview.",
    ]
    for name, command in COMMANDS.items():
        parts += [f"## longpass {name}", f"{command.summary[0].upper()}{command.summary[1:]}."]
        parts.append(f"```text\n{print_help(name)}\n```")
    parts += [
        "## Worlds",
        "`train`, `pbt`, `play` and `film` take a world, whose parameters are flags too. "
        "Here is `longpass film` with each of them.",
    ]
    from longpass.envs import names

    parts += [f"```text\n{print_help('film', world)}\n```" for world in names()]
    return "\n\n".join(parts) + "\n"


def print_help(*words: str) -> str:
    """What a command prints of itself.

    **Arguments:**

    - `words`: after `longpass`, without `--help`.
    """
    from longpass.cli import main

    out = io.StringIO()
    # The help is as wide as the terminal, which is a page here, and has no colours.
    os.environ.update(COLUMNS=str(COLUMNS), NO_COLOR="1")
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        main([*words, "--help"])
    lines = [line.rstrip() for line in out.getvalue().strip().split("\n")]
    # Flags are wrapped already, sentences are not.
    return "\n".join(
        line if line.startswith(" ") else textwrap.fill(line, COLUMNS) for line in lines
    )


def make_settings_page() -> str:
    """The page of every setting, with its default and meaning."""
    from longpass import envs, streams
    from longpass.agents import PopulationSettings

    parts = [
        "# Every setting",
        "Settings are declared once, as fields of the classes below. From that declaration come "
        "the flag of the command line (with dashes for underscores), the check of its bounds, its "
        "place in `settings.json` and in the records, and its row here.",
        "## Agents",
        "`longpass train` and `pbt` ([Agents](../agents.md)).",
        agent_tables(),
        "## Populations",
        "`longpass pbt` ([Populations](../populations.md)).",
        plain_table(PopulationSettings),
        "## Classification",
        "`longpass classify` ([Sequence classification](../classification.md)).",
        plain_table(streams.StreamSettings),
        "What depends on the memory, where it is not given:",
        defaults_table(),
        "## Sweeps",
        "`longpass sweep`.",
        plain_table(streams.SweepPlan),
        "## Worlds",
        "`longpass.envs.make(name, ...)` and the commands that take a world "
        "([Environments](../environments.md)).",
    ]
    for world in envs.names():
        parts.append(plain_table(type(envs.make(world)[1])))
    return "\n\n".join(parts) + "\n"
