"""Tutorials: scripts that are run and become pages with their output and pictures, and notebooks.

A tutorial is a Python script in cells. A cell begins with `# %%`, or with `# %% [markdown]` if its
lines are comments that hold text. What a cell prints and draws stands below it on the page. A
figure has a label, `plt.subplots(num="What each pool holds")`, which describes it to those who do
not see it.

python scripts/docs_tutorials.py examples/tutorials/reading_a_chain.py FOLDER    # one of them
"""

import base64
import contextlib
import dataclasses
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

_CELL = re.compile(r"^# %%( \[markdown\])?\n", re.MULTILINE)
# Tutorials share compiled programs with each other and with the next build, as the tests do.
_CACHE = {
    "JAX_COMPILATION_CACHE_DIR": str(Path(__file__).parent.parent / ".jax_cache"),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
}


@dataclasses.dataclass
class Cell:
    """A cell, and what it printed and drew when it was run."""

    text: str
    is_text: bool
    printed: str = ""
    pictures: list[tuple[str, bytes]] = dataclasses.field(default_factory=list)
    """The label and the PNG of each figure."""


def read_cells(script: str) -> list[Cell]:
    """The cells of a script.

    **Arguments:**

    - `script`: its source.
    """
    before, *rest = _CELL.split(script)
    if before.strip():
        raise ValueError(f"{before.strip()[:40]!r} stands before the first cell")
    cells = []
    for mark, body in zip(rest[::2], rest[1::2], strict=True):
        body = body.strip("\n")
        if mark:
            body = "\n".join(line.removeprefix("#").removeprefix(" ") for line in body.split("\n"))
        cells.append(Cell(body, is_text=bool(mark)))
    return cells


def run_cells(cells: list[Cell]) -> None:
    """Run the cells in order, and note what each prints and draws.

    **Arguments:**

    - `cells`: of one tutorial. Those with text are left as they are.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(cells):
        if cell.is_text:
            continue
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(cell.text, f"<cell {number}>", "exec"), names)
        cell.printed = out.getvalue()
        for figure in map(plt.figure, plt.get_fignums()):
            if not figure.get_label():
                raise ValueError(f"a figure of cell {number} has no label: give it num='...'")
            picture = io.BytesIO()
            figure.savefig(picture, dpi=110, bbox_inches="tight")
            cell.pictures.append((str(figure.get_label()), picture.getvalue()))
        plt.close("all")


def write_page(name: str, cells: list[Cell], folder: Path) -> None:
    """Write a tutorial as a page, with its pictures beside it.

    **Arguments:**

    - `name`: of the tutorial.
    - `cells`: after they have been run.
    - `folder`: for the files.
    """
    parts, count = [], 0
    for cell in cells:
        parts.append(cell.text if cell.is_text else f"```python\n{cell.text}\n```")
        if cell.printed:
            parts.append(f"```text\n{cell.printed.rstrip()}\n```")
        for label, picture in cell.pictures:
            count += 1
            (folder / f"{name}-{count}.png").write_bytes(picture)
            parts.append(f"![{label}]({name}-{count}.png)")
    title, _, rest = "\n\n".join(parts).partition("\n")
    files = (
        f"This page is a script, `examples/tutorials/{name}.py`, and a [notebook]({name}.ipynb)."
    )
    (folder / f"{name}.md").write_text(f"{title}\n\n{files}\n{rest}\n")


def write_notebook(name: str, cells: list[Cell], folder: Path) -> None:
    """Write a tutorial as a notebook. The arguments are those of `write_page`."""
    made = []
    for number, cell in enumerate(cells):
        common = {"id": f"cell-{number}", "metadata": {}, "source": cell.text}
        if cell.is_text:
            made.append({"cell_type": "markdown", **common})
            continue
        outputs: list[dict[str, Any]] = []
        if cell.printed:
            outputs.append({"output_type": "stream", "name": "stdout", "text": cell.printed})
        for label, picture in cell.pictures:
            data = {"image/png": base64.b64encode(picture).decode(), "text/plain": label}
            outputs.append({"output_type": "display_data", "data": data, "metadata": {}})
        made.append({"cell_type": "code", "execution_count": None, "outputs": outputs, **common})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4}
    (folder / f"{name}.ipynb").write_text(json.dumps(notebook | {"nbformat_minor": 5}, indent=1))


def make_tutorial(script: Path, folder: Path) -> None:
    """Run a tutorial in a process and a folder of its own, and write its page and notebook.

    **Arguments:**

    - `script`: the tutorial.
    - `folder`: for the page, its pictures and the notebook.
    """
    with tempfile.TemporaryDirectory() as empty:
        done = subprocess.run(
            [sys.executable, __file__, str(script.resolve()), str(folder.resolve())],
            capture_output=True,
            text=True,
            cwd=empty,
            env={**_CACHE, **os.environ},
        )
    if done.returncode != 0:
        raise RuntimeError(f"{script.name} failed:\n{done.stderr}")


def main() -> None:
    """Run the tutorial that the arguments name."""
    script, folder = map(Path, sys.argv[1:])
    cells = read_cells(script.read_text())
    run_cells(cells)
    write_page(script.stem, cells, folder)
    write_notebook(script.stem, cells, folder)


if __name__ == "__main__":
    main()
