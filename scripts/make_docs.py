"""Build the documentation site into site/.

Tutorials are run, and their pages are written into .tutorials. All pages are gathered in .docs:
those of docs/, everything that they link to, the tutorials, those that are made from the program
(API, commands, settings), and the report of the results. Then Zensical, or mkdocs with the theme
Material, turns them into HTML. A warning ends the build.

python scripts/make_docs.py                    # with Zensical
python scripts/make_docs.py --with mkdocs      # with mkdocs-material, which must be installed
python scripts/make_docs.py --keep-tutorials   # without running the tutorials once more
"""

import argparse
import shutil
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from docs_pages import REPORT, ROOT, TUTORIALS, Pages, place_on_site
from docs_reference import (
    list_packages,
    make_api_page,
    make_commands_page,
    make_settings_page,
)
from docs_tutorials import make_tutorial

PAGES = ROOT / ".docs"
RUN = ROOT / ".tutorials"
SITE = ROOT / "site"
# Pages of the repository that are on the site too.
_REPOSITORY = ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")


def gather_pages(keep_tutorials: bool) -> None:
    """Write all pages into .docs.

    **Arguments:**

    - `keep_tutorials`: whether tutorials that were run before are taken as they are.
    """
    shutil.rmtree(PAGES, ignore_errors=True)
    PAGES.mkdir()
    with ThreadPoolExecutor(2) as pool:
        work = [pool.submit(write_report)]
        if not keep_tutorials:
            work += start_tutorials(pool)
        for one in work:
            one.result()
    pages = Pages(PAGES)
    for path in [*sorted((ROOT / "docs").rglob("*.*")), *(ROOT / name for name in _REPOSITORY)]:
        pages.add_file(path)
    shutil.copytree(RUN, PAGES / "tutorials")
    for script in list_tutorials():
        pages.add_text(place_on_site(script), (RUN / f"{script.stem}.md").read_text(), script)
    reference = PAGES / "reference"
    for package in list_packages():
        (reference / f"{package}.md").write_text(make_api_page(package))
    (reference / "commands.md").write_text(make_commands_page())
    (reference / "settings.md").write_text(make_settings_page())


def write_report() -> None:
    """Show the results of this repository in one page for the browser."""
    words = ["report", "results", "--out", str(PAGES / REPORT), "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "longpass", *words], cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode != 0:
        sys.exit(f"the report cannot be made: {done.stderr}")


def start_tutorials(pool: ThreadPoolExecutor) -> list[Future[None]]:
    """Run all tutorials, and write their pages into .tutorials."""
    shutil.rmtree(RUN, ignore_errors=True)
    RUN.mkdir()
    return [pool.submit(make_tutorial, script, RUN) for script in list_tutorials()]


def list_tutorials() -> list[Path]:
    """The scripts of all tutorials."""
    return sorted(TUTORIALS.glob("*.py"))


def build_site(builder: str) -> None:
    """Turn the pages in .docs into HTML in site/.

    **Arguments:**

    - `builder`: zensical or mkdocs.
    """
    shutil.rmtree(SITE, ignore_errors=True)
    words = ["build", "--strict", "--clean", "--config-file", str(ROOT / "mkdocs.yml")]
    done = subprocess.run([sys.executable, "-m", builder, *words], cwd=ROOT)
    if done.returncode != 0:
        sys.exit(f"{builder} found something wrong: see above")


def main() -> None:
    """Gather the pages and build the site."""
    parser = argparse.ArgumentParser(description="Build the documentation site into site/.")
    parser.add_argument(
        "--with", choices=("zensical", "mkdocs"), default="zensical", dest="builder"
    )
    parser.add_argument("--keep-tutorials", action="store_true")
    flags = parser.parse_args()
    gather_pages(flags.keep_tutorials)
    build_site(flags.builder)
    print("The site is in site/: `python -m http.server -d site` shows it at port 8000")


if __name__ == "__main__":
    main()
