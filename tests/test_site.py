"""The documentation site: its pages, links, tutorials, and that it builds without a warning."""

import html.parser
import importlib
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from tests.helpers import default_environment

ROOT = Path(__file__).parent.parent
REPORT = "results-report.html"
NAVIGATION = re.findall(
    r"^ +- .*?(\S+\.md)$", (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2], re.MULTILINE
)


def test_pages_have_links_to_files_and_a_place_in_the_navigation(tmp_path):
    pages = importlib.import_module("docs_pages")
    found = sorted((ROOT / "docs").rglob("*.md"))
    gathered = pages.Pages(tmp_path)
    for path in found:
        gathered.add_file(path)
    assert (tmp_path / "repository/results/figures/rl.png").exists()
    assert (tmp_path / "repository/examples/linear_memory.py.md").exists()
    expected = {pages.place_on_site(path).as_posix() for path in found}
    expected |= {f"tutorials/{path.stem}.md" for path in pages.TUTORIALS.glob("*.py")}
    reference = importlib.import_module("docs_reference")
    made = [*reference.list_packages(), "commands", "settings"]
    expected |= {f"reference/{name}.md" for name in made}
    repository = {page for page in NAVIGATION if page.startswith("repository/")}
    assert sorted(NAVIGATION) == sorted(expected | repository)


def test_a_link_that_leads_nowhere_is_refused(tmp_path):
    gathered = importlib.import_module("docs_pages").Pages(tmp_path)
    page = ROOT / "docs" / "memory.md"
    text = "a\n```\n[not a link](nowhere.md)\n```\n`[nor this](nowhere.md)` [theory](theory.md#how)"
    gathered.add_text(Path("memory.md"), text, page)
    assert (tmp_path / "memory.md").read_text() == text
    with pytest.raises(
        ValueError, match=r"docs/memory.md:2 links to nowhere.md: it must be a file"
    ):
        gathered.add_text(Path("memory.md"), "\n[b](nowhere.md)", page)


def test_links_to_other_files_lead_to_their_pages(tmp_path):
    gathered = importlib.import_module("docs_pages").Pages(tmp_path)
    text = (
        "[a](../../examples/tutorials/reading_a_chain.py) [b](../../src/longpass/memory)"
        " [c](../../results/README.md) [d](https://arxiv.org) [e](../cli.md#figures)"
    )
    gathered.add_text(Path("start/a.md"), text, ROOT / "docs" / "start" / "a.md")
    assert (tmp_path / "start/a.md").read_text() == (
        "[a](../tutorials/reading_a_chain.md) [b](../reference/memory.md)"
        " [c](../repository/results/README.md) [d](https://arxiv.org) [e](../cli.md#figures)"
    )


def test_cells_of_a_tutorial(tmp_path):
    tutorials = importlib.import_module("docs_tutorials")
    script = tmp_path / "small.py"
    script.write_text(
        "# %% [markdown]\n# # Title\n#\n# Text.\n\n# %%\nx = 2\nprint(x)\n\n# %%\n"
        "import matplotlib.pyplot as plt\nplt.figure(num='A picture')\nprint(x + 1)\n"
    )
    tutorials.make_tutorial(script, tmp_path)
    page = (tmp_path / "small.md").read_text()
    assert page.startswith("# Title\n\nThis page is a script")
    assert "Text.\n\n```python\nx = 2\nprint(x)\n```\n\n```text\n2\n```\n" in page
    assert page.endswith("```text\n3\n```\n\n![A picture](small-1.png)\n")
    notebook = json.loads((tmp_path / "small.ipynb").read_text())
    kinds = [cell["cell_type"] for cell in notebook["cells"]]
    assert kinds == ["markdown", "code", "code"]
    assert [output["output_type"] for output in notebook["cells"][2]["outputs"]] == [
        "stream",
        "display_data",
    ]
    script.write_text("# %%\nassert False, 'wrong'\n")
    with pytest.raises(RuntimeError, match=r"small.py failed:[\s\S]*wrong"):
        tutorials.make_tutorial(script, tmp_path)


def test_doctests_are_fenced():
    pytest.importorskip("griffe")
    fence = importlib.import_module("docs_griffe").fence_doctests
    assert fence("One.\n\n>>> 1 + 1\n2\n\nTwo.") == "One.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nTwo."


class _Page(html.parser.HTMLParser):
    """What a page links to, and the anchors that it has."""

    def __init__(self, text: str):
        super().__init__()
        self.links: list[tuple[str, str]] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, Any]]) -> None:
        given = dict(attrs)
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        self.links += [(tag, given[name]) for name in ("href", "src") if given.get(name)]


@pytest.mark.slow
def test_the_site_builds_and_its_links_hold():
    """Runs every tutorial: their own assertions are the tests of them."""
    # Tutorials train for seconds, which pays for optimising their programs.
    env = {**default_environment(), "JAX_DISABLE_MOST_OPTIMIZATIONS": "0"}
    done = subprocess.run(
        [sys.executable, "scripts/make_docs.py"], cwd=ROOT, capture_output=True, text=True, env=env
    )
    assert done.returncode == 0, done.stdout + done.stderr
    site = ROOT / "site"
    # The page for addresses that do not exist is shown at any of them, so its links are absolute.
    # The report makes its anchors itself, and is tested in tests/report.
    files = [path for path in site.rglob("*.html") if path.name not in ("404.html", REPORT)]
    pages = {path: _Page(path.read_text()) for path in files}
    assert {(site / page).with_suffix(".html") for page in NAVIGATION} <= set(pages)
    for path, page in pages.items():
        for tag, link in page.links:
            where = f"{path.relative_to(site)}: {link}"
            if re.match(r"[a-z]+:|//", link):
                # Readers may follow links out of the site; it loads nothing from there.
                assert tag == "a", where
                continue
            target, _, anchor = unquote(link).partition("#")
            file = (path.parent / target).resolve() if target else path
            assert file.is_file(), where
            assert not anchor or file not in pages or anchor in pages[file].anchors, where
    assert ("iframe", f"../{REPORT}#memory") in pages[site / "tutorials/how_many_pools.html"].links
    assert ("a", REPORT) in pages[site / "report.html"].links
    for name in ("reading_a_chain-1.png", "a_population.ipynb"):
        assert (site / "tutorials" / name).is_file()
    # Names of packages that are loaded on first use are found without importing them.
    assert {"longpass.memory.Concrete", "longpass.agents.Impala.update"} <= {
        anchor for page in pages.values() for anchor in page.anchors
    }
