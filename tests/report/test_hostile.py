"""Names and values in records are data: the page shows them, and runs none of them."""

import pytest
from selenium.common.exceptions import NoAlertPresentException

from tests.report.browser import needs_browser
from tests.report.made_up import write_hostile
from tests.report.pages import TABS, write_page

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]


@needs_browser
def test_hostile_records_are_shown_as_text(browser, tmp_path):
    made = write_page(tmp_path / "hostile.html", write_hostile(tmp_path / "records"))
    browser.requests()
    browser.open(made)
    assert "<script>alert(1)<∕script>" in browser.text("#runs")
    assert '<img src="https://example.invalid/x" onerror="alert(2)">' in browser.text("#runs")
    for tab in TABS:
        browser.click(f"#tab-{tab}")
    browser.wait("return document.querySelectorAll('.bk-Figure').length >= 5")
    browser.click("#tab-curves")
    browser.set("#curves-task", "two-markers")
    assert "curves have more points than the 200 that are drawn" in browser.text("#curves-note")
    browser.click("#tab-figures")
    browser.point_at("scores|two-markers")
    shown = browser.tip()
    assert "<script>alert(1)" in shown
    with pytest.raises(NoAlertPresentException):
        _ = browser.driver.switch_to.alert.text
    assert browser.run("return document.querySelectorAll('main img, main script').length") == 0
    assert [one for one in browser.requests() if not one.startswith(("data:", "blob:"))] == [
        made.as_uri()
    ]
    assert browser.errors() == []
