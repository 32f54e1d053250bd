"""Pages of the repository as pages of the site: copied, with links that work in both places.

In the repository a page links to files: to other pages, figures, examples, packages. On the site
the same link leads to a page made of that file. Whatever a page links to comes along.
"""

import os
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "longpass"
TUTORIALS = ROOT / "examples" / "tutorials"
# Files that are shown as they are, beside pages; other text files become pages with a listing.
_COPIED = {".png", ".svg", ".gif", ".csv", ".css", ".ipynb", ".jsonl"}
# A file of the site alone: what `longpass report` makes of the results in this repository.
REPORT = "results-report.html"
# Comments in pages, and what stands for them on the site.
_PARTS = {
    "<!-- the report of results -->": '<a href="{}">The report of these results</a> is part of'
    " this site.",
    "<!-- the explorer -->": '<iframe class="explorer" src="{}#memory" title="What does a chain'
    ' remember?" loading="lazy"></iframe>',
}
_FENCE = re.compile(r"^ *```")
_CODE = re.compile(r"`[^`]*`")
_LINK = re.compile(r"(\]\()([^)\s]+)(\))")


def place_on_site(path: Path) -> Path:
    """Where a file of the repository is on the site.

    **Arguments:**

    - `path`: an absolute path below the repository; a folder stands for its README.

    **Returns:**

    A path relative to the site's pages.
    """
    if SOURCE in path.parents:
        return Path("reference", path.relative_to(SOURCE).parts[0] + ".md")
    if path.is_dir():
        path = path / "README.md"
    if path.parent == TUTORIALS:
        return Path("tutorials", path.stem + ".md")
    if path.is_relative_to(ROOT / "docs"):
        return path.relative_to(ROOT / "docs")
    below = Path("repository") / path.relative_to(ROOT)
    if path.suffix in _COPIED or path.suffix == ".md":
        return below
    return below.with_name(below.name + ".md")


class Pages:
    """Gathers pages in a folder.

    **Arguments:**

    - `folder`: for the pages; it must be empty.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self._placed: set[Path] = set()

    def add_file(self, path: Path) -> None:
        """Add a file of the repository, and everything that it links to.

        **Arguments:**

        - `path`: an absolute path. Tutorials and packages, which have pages of their own, are not
          added.
        """
        if path.is_dir():
            path = path / "README.md"
        place = place_on_site(path)
        if path in self._placed or TUTORIALS in path.parents or SOURCE in path.parents:
            return
        self._placed.add(path)
        if path.suffix in _COPIED:
            self._write(place, path.read_bytes())
        elif path.suffix == ".md":
            self.add_text(place, path.read_text(), path)
        else:
            listing = f"# {path.relative_to(ROOT)}\n\n```{path.suffix[1:] or 'text'}\n"
            self._write(place, f"{listing}{path.read_text()}```\n".encode())

    def add_text(self, place: Path, text: str, path: Path) -> None:
        """Add a page.

        **Arguments:**

        - `place`: of the page on the site.
        - `text`: in Markdown, with links as in the repository.
        - `path`: the file in the repository from which its links lead.
        """
        for comment, part in _PARTS.items():
            report = Path(os.path.relpath(REPORT, place.parent)).as_posix()
            text = text.replace(comment, part.format(report))
        lines, fenced = [], False
        for number, line in enumerate(text.split("\n"), 1):
            is_fence = bool(_FENCE.match(line))
            fenced ^= is_fence
            if not (is_fence or fenced or line.startswith("    ")):
                line = self._turn_links(line, place, path, number)
            lines.append(line)
        self._write(place, "\n".join(lines).encode())

    def _turn_links(self, line: str, place: Path, path: Path, number: int) -> str:
        codes = [match.span() for match in _CODE.finditer(line)]

        def turn(match: re.Match[str]) -> str:
            target, _, anchor = match[2].partition("#")
            inside = any(start < match.start(2) < end for start, end in codes)
            # Pictures of a tutorial are beside its page.
            beside = "/" not in target and (self.folder / place.parent / target).is_file()
            if inside or not target or beside or re.match(r"[a-z]+:", target):
                return match[0]
            file = (path.parent / target).resolve()
            exists = (file / "README.md").exists() if file.is_dir() else file.exists()
            if not file.is_relative_to(ROOT) or not (exists or SOURCE in file.parents):
                where = f"{path.relative_to(ROOT)}:{number}"
                raise ValueError(f"{where} links to {target}: it must be a file of the repository")
            self.add_file(file)
            there = Path(os.path.relpath(place_on_site(file), place.parent)).as_posix()
            return f"{match[1]}{there}{'#' * bool(anchor)}{anchor}{match[3]}"

        return _LINK.sub(turn, line)

    def _write(self, place: Path, content: bytes) -> None:
        file = self.folder / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
