"""One browser and one report for all tests of pages."""

from pathlib import Path

import pytest

from longpass.report._episodes import pack_episode
from tests.report.browser import Browser, start_browser
from tests.report.made_up import write_all
from tests.report.pages import SHORT, play, write_page


@pytest.fixture(scope="session")
def browser():
    with start_browser() as found:
        yield found


@pytest.fixture(scope="session")
def made(tmp_path_factory) -> Path:
    """A report of made-up runs, with episodes on all worlds."""
    folder = tmp_path_factory.mktemp("report")
    episodes = []
    for env in SHORT:
        run, world, played = play(env)
        episodes.append(pack_episode(run, world, env, 3, played))
    return write_page(folder / "report.html", write_all(folder / "results"), episodes)


@pytest.fixture
def page(browser: Browser, made: Path) -> Browser:
    """The report, opened anew."""
    browser.open(made)
    browser.errors()
    return browser
