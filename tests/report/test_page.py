"""The page, in a real browser: with the network off, nothing is asked for and nothing fails."""

import numpy as np
import pytest
from scipy.stats import t as student
from selenium.webdriver import ActionChains, Keys

from longpass._intervals import proportion_interval
from tests.report.browser import needs_browser
from tests.report.pages import TABS, read_script, run_node

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]


@needs_browser
def test_every_tab_opens_without_a_request_or_a_complaint(page, made):
    page.requests()
    page.open(made)
    for tab in TABS:
        page.click(f"#tab-{tab}")
        page.wait("return !document.getElementById(arguments[0]).hidden", f"part-{tab}")
    page.wait("return document.querySelectorAll('.bk-Figure').length >= 15")
    asked = [one for one in page.requests() if not one.startswith(("data:", "blob:"))]
    assert asked == [made.as_uri()]
    assert page.errors() == []


@needs_browser
def test_the_policy_of_the_page_stops_what_the_page_does_not_have(page):
    """Nothing could be loaded or run, even if something found its way into the page."""
    page.run(
        "const one = document.createElement('script'); one.textContent = 'window.bad = 1';"
        "document.body.append(one);"
        "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.bad = 2\">')"
    )
    failed = page.driver.execute_async_script(
        "const done = arguments[0];"
        "fetch('http://127.0.0.1:1/').then(() => done(''), (error) => done(String(error)))"
    )
    assert failed
    assert page.run("return window.bad") is None
    assert any("Content Security Policy" in one for one in page.errors())


@needs_browser
def test_the_table_filters_sorts_and_compares(page):
    assert "45 of 45 runs" in page.text("#runs-count")
    page.set("#filter-task", "two-markers")
    assert "18 of 45 runs" in page.text("#runs-count")
    page.set("#filter-memory", "lstm")
    page.set("#filter-block_every", "128")
    page.set("#filter-least", "0.85")
    assert "2 of 45 runs" in page.text("#runs-count")
    for name in ("task", "memory", "block_every"):
        page.set(f"#filter-{name}", "")
    page.set("#filter-least", "")
    page.set("#filter-text", "CHAIN base=1.5 two-markers")
    assert "6 of 45 runs" in page.text("#runs-count")
    page.click("#column-score button")
    read = "return [...document.querySelectorAll('#runs tr')].map((row) => row.cells[5].innerText)"
    shown = [float(one) for one in page.run(read)]
    assert shown == sorted(shown, reverse=True)
    assert page.run("return document.querySelector('#column-score').ariaSort") == "descending"
    page.click("#runs tr:nth-child(1) input")
    page.click("#runs tr:nth-child(6) input")
    read = (
        "return [...document.querySelectorAll('#differences tbody th')].map((one) => one.innerText)"
    )
    assert "seed" in page.run(read)
    assert "hidden_size" not in page.run(read)
    page.set("#filter-text", "")


@needs_browser
def test_figure_four_follows_its_sliders(page):
    page.click("#tab-figures")
    found = page.source("solved|two-markers", "points")
    cells = list(zip(found["label"], found["solved"], found["count"], found["y"], strict=True))
    assert cells[0] == ("Concrete (chain)", 1, 3, pytest.approx(1 / 3))
    ends = page.source("solved|two-markers", "ends")
    for solved, count, low, high in zip(
        found["solved"], found["count"], ends["low"], ends["high"], strict=True
    ):
        assert (low, high) == pytest.approx(proportion_interval(int(solved), int(count))[1:])
    page.set("#solved", "0.75")
    assert page.source("solved|two-markers", "points")["solved"][0] == 3
    assert "0.75" in page.text("#figure-scores output")
    before = page.source("scores|two-markers", "points")
    page.set("#scores-colour", "learning_rate")
    after = page.source("scores|two-markers", "points")
    assert before["x"] == after["x"]
    assert set(before["colour"]) != set(after["colour"])
    assert len(before["x"]) == 18
    assert "learning_rate" in after["text"][0]


ELEMENTS = """
const elements = {};
const chosen = {};
longpass.byId = (id) => elements[id] ??= { style: {}, options: [], value: "",
  replaceChildren(...options) { this.options = options; this.value = options[0]?.value ?? ""; },
};
longpass.make = (tag, attributes) => ({ style: {}, ...attributes });
longpass.makeSelect = (words, options, onChange, id) => { chosen[id] = onChange; };
for (const name of ["makeChart", "makeSlider", "fill", "look"]) longpass[name] = () => ({});
longpass.makeKey = () => [];
longpass.config = { chance: { task: 0.25 }, looks: {}, titles: {} };
"""
FOLDERS = """
const shown = [];
const draw = () => {
  longpass.drawScores();
  shown.push([elements["scores-collection"].value, elements["scores-count-task"].textContent]);
};
const add = (collection) =>
  longpass.store.runs.set(collection, { collection, task: "task", places: { scores: true } });
longpass.buildScores();
add("other");
draw();
add("classification");
draw();
for (const value of ["", "other"]) {
  chosen["scores-collection"](value);
  draw();
}
longpass.store.runs.delete("other");
draw();
console.log(JSON.stringify(shown));
"""


def test_the_folders_of_figure_four_are_chosen(tmp_path):
    """One, or all of them; before that those of the paper, as soon as they are there."""
    core, scores = (read_script(name) for name in ("core.js", "scores.js"))
    assert run_node(tmp_path, core, ELEMENTS, scores, FOLDERS) == [
        ["", "n = 1"],
        ["classification", "n = 1"],
        ["", "n = 2"],
        ["other", "n = 1"],
        ["classification", "n = 1"],
    ]


@needs_browser
def test_means_and_intervals_are_students(page):
    page.click("#tab-curves")
    page.set("#curves-task", "t-maze")
    found = page.source("curves-linear", "mean")
    group = found["label"].index("Concrete (chain), block every 3")
    assert found["count"][group] == 3
    page.click('[data-toggle="block_every=300"]')
    assert all("300" not in one for one in page.source("curves-linear", "mean")["label"])
    page.click('[data-toggle="block_every=300"]')
    curves = [[[1, 2, 4], [0.0, 1.0, 3.0], False], [[0, 4], [1.0, 5.0], False]]
    curves.append([[0, 2], [2.0, 2.0], True])
    result = page.run("return longpass.average(arguments[0], 4)", curves)
    grid = np.array(result["xs"])
    assert grid[0] == 1.0
    values = np.stack([grid - 1, grid + 1, np.full_like(grid, 2.0)])
    np.testing.assert_allclose(result["mean"], values.mean(axis=0), atol=1e-9)
    half = student.ppf(0.975, 2) * values.std(axis=0, ddof=1) / np.sqrt(3)
    np.testing.assert_allclose(np.array(result["high"]) - result["mean"], half, atol=1e-6)
    page.click("#curves-logarithmic")
    page.wait("return !document.querySelector('#box-curves-log').hidden")
    assert min(min(xs) for xs in page.source("curves-log", "mean")["xs"]) > 0
    page.set("#curves-axis", "episodes")
    assert max(max(xs) for xs in page.source("curves-log", "mean")["xs"]) == pytest.approx(0.8)


@needs_browser
def test_figures_of_agents_show_their_runs(page):
    page.click("#tab-figures")
    assert page.source("rl|t-maze|3", "mean")["count"] == [3]
    assert len(page.source("rl|t-maze|100", "thin")["xs"]) == 1  # the population
    assert page.source("onset|t-maze|lstm", "mean")["label"] == ["280 steps in limbo"]
    assert len(page.source("conditioning", "mean")["xs"]) == 1
    assert len(page.source("lineage", "cells")["x"]) == 8
    copies = page.source("lineage", "copies")
    assert (copies["y0"], copies["y1"]) == ([0], [1])


@needs_browser
def test_claims_lead_to_their_evidence(page):
    page.click("#tab-claims")
    assert "With gradients over 2 to 8 steps" in page.text("#claims")
    page.click("#claims tr:nth-child(2) a")
    assert page.run("return document.querySelector('#part-overview').hidden") is False
    assert "18 of 45 runs" in page.text("#runs-count")
    page.click("#tab-claims")
    page.click("#claims a[href='#figure-scores']")
    assert page.run("return document.querySelector('#part-figures').hidden") is False


@needs_browser
def test_an_episode_plays_pauses_and_is_scrubbed(page):
    page.click("#tab-episodes")
    frame = "return Number(document.querySelector('#scrub').value)"
    page.wait("return document.querySelector('#episode-now').innerText.includes('frame')")
    first = page.source("pools", "pools")
    page.set("#speed", "50")
    page.click("#play")
    page.wait(f"{frame} >= 4", seconds=10)
    page.click("#play")
    stopped = page.run(frame)
    assert page.text("#play") == "play"
    page.click("#step-on")
    assert page.run(frame) == stopped + 1
    page.set("#scrub", "2")
    assert "2 of" in page.text("#episode-now")
    assert page.source("pools", "pools") != first
    page.set("#episode", "1")
    page.wait("return document.querySelector('#episode-note').innerText.includes('T-maze')")
    assert page.run(frame) == 0
    assert page.errors() == []


@needs_browser
def test_the_keyboard_reaches_everything(page):
    page.run("document.querySelector('#tab-overview').focus()")
    ActionChains(page.driver).send_keys(Keys.ARROW_RIGHT).perform()
    assert page.run("return document.activeElement.id") == "tab-curves"
    ActionChains(page.driver).send_keys(Keys.ARROW_LEFT, Keys.ARROW_LEFT).perform()
    assert page.run("return document.activeElement.id") == "tab-episodes"
    ActionChains(page.driver).send_keys(Keys.ARROW_RIGHT, Keys.TAB, Keys.TAB).perform()
    assert page.run(
        "return document.querySelector('#part-overview').contains(document.activeElement)"
    )
    unnamed = """return [...document.querySelectorAll('button, input, select')].filter((one) =>
        !(one.innerText || one.ariaLabel || (one.labels && one.labels.length)))
        .map((one) => one.outerHTML)"""
    for tab in TABS:
        page.click(f"#tab-{tab}")
        assert page.run(unnamed) == []


@needs_browser
def test_light_and_dark_and_narrow(page):
    page.click("#tab-memory")
    colour = """return longpass.chart('impulse').then(
        (one) => one.get_model_by_name('x-axis').axis_label_text_color)"""
    dark = page.run("return document.documentElement.dataset.theme") == "dark"
    before = page.run(colour)
    page.click("#theme")
    assert page.run("return document.documentElement.dataset.theme") == (
        "light" if dark else "dark"
    )
    assert page.run(colour) != before
    page.driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 380, "height": 800, "deviceScaleFactor": 1, "mobile": True},
    )
    try:
        for tab in TABS:
            page.click(f"#tab-{tab}")
            assert page.run("return document.documentElement.scrollWidth") <= 380, tab
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@needs_browser
def test_nothing_moves_when_charts_arrive(page):
    page.run("location.hash = 'figures'; location.reload()")
    page.wait("return document.documentElement.dataset.ready === 'yes'")
    page.wait("return document.querySelectorAll('.bk-Figure').length >= 10")
    moved = page.driver.execute_async_script(
        "const done = arguments[0]; let sum = 0;"
        "const add = (list) => list.getEntries().forEach((one) => { sum += one.value; });"
        "new PerformanceObserver(add)"
        ".observe({type: 'layout-shift', buffered: true}); setTimeout(() => done(sum), 300)"
    )
    assert moved < 0.05
