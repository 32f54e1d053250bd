"""What the page computes about memories is what `longpass.theory` does."""

import itertools

import numpy as np
import pytest
from selenium.webdriver import ActionChains, Keys

from longpass import theory
from longpass._rates import rates
from tests.report.browser import needs_browser
from tests.report.pages import read_script, run_node

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

WIRINGS = ("chain", "parallel")


def check_explored(found: dict, base: float, pools: int, wiring: theory.Wiring) -> None:
    """What the page's script computes is what `longpass.theory` does, to 1e-6."""
    a = rates(base, pools)

    def equal(left, right):
        np.testing.assert_allclose(np.array(left, float), right, rtol=1e-6, atol=1e-300)

    equal(found["rates"], a)
    equal(found["delays"], theory.mean_delay(a, wiring))
    equal(found["spreads"], theory.spread(a, wiring))
    equal([peak[0] for peak in found["peaks"]], theory.peak_delay(a, wiring))
    equal(found["gains"], np.abs(theory.frequency_response(a, found["omegas"], wiring)))
    assert found["needs"] == {one: theory.pools_for(123, base, one) for one in WIRINGS}
    length = int(found["times"][-1]) + 1
    if length <= 200_000:
        responses = theory.impulse_response(a, 40 * length, wiring)
        norms = np.sqrt((responses**2).sum(axis=1))
        equal(found["norms"], norms)
        equal(found["responses"], responses[:, found["times"]] / norms[:, None])
        equal([peak[1] for peak in found["peaks"]], responses.max(axis=1))


EXPLORED = [*itertools.product((1.1, 2.0, 3.35), (1, 5, 9), WIRINGS), (4.0, 16, "chain")]


@needs_browser
def test_the_explorer_computes_what_the_theory_does(page):
    script = """return ((found) => ({...found, responses: found.responses.map((one) => [...one])}))(
        longpass.explore({base: arguments[0], pools: arguments[1], wiring: arguments[2],
                          normalised: 'norm', horizon: 123}))"""
    for base, pools, wiring in EXPLORED:
        check_explored(page.run(script, base, pools, wiring), base, pools, wiring)


def test_the_filters_compute_the_same_outside_of_a_browser(tmp_path):
    """The closed forms alone, in another engine."""
    delays, norms = run_node(
        tmp_path,
        read_script("filters.js"),
        "const a = filters.rates(2, 8);"
        "console.log(JSON.stringify([filters.meanDelay(a, 'chain'), filters.norms(a, 'chain')]))",
    )
    a = rates(2.0, 8)
    np.testing.assert_allclose(delays, theory.mean_delay(a), rtol=1e-6)
    response = theory.impulse_response(a, 40_000)
    np.testing.assert_allclose(norms, np.sqrt((response**2).sum(axis=1)), rtol=1e-6)


@needs_browser
def test_the_explorers_sliders_are_dragged(page):
    page.click("#tab-memory")
    assert "needs 8 pools in a chain, 9 in parallel" in page.text("#explorer-needs")
    slider = page.driver.find_element("css selector", "#base")
    ActionChains(page.driver).drag_and_drop_by_offset(slider, 60, 0).perform()
    base = float(page.run("return document.querySelector('#base').value"))
    assert base > 2.3
    pools = [theory.pools_for(300, base, wiring) for wiring in WIRINGS]
    assert f"needs {pools[0]} pools in a chain, {pools[1]} in parallel" in page.text(
        "#explorer-needs"
    )
    page.driver.find_element("css selector", "#pools").send_keys(Keys.ARROW_RIGHT)
    rows = page.run("return document.querySelectorAll('#explorer-table tr').length")
    assert rows == 9 == len(page.source("impulse", "pools")["xs"])
    last = "#explorer-table tr:last-child td:nth-child(3)"
    delay = theory.mean_delay(rates(base, 9))[-1]
    assert float(page.text(last).replace(",", "")) == pytest.approx(delay, rel=1e-4)
    page.set("#normalised", "no")
    first = page.source("impulse", "pools")["ys"][0][0]
    assert first == pytest.approx(1 / base)
