"""A real browser for tests: Debian's Chromium, without a network."""

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import ActionChains, Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
DRIVER = shutil.which("chromedriver")
# Chromium is not on PyPI. .ci/run installs it where it can; elsewhere the other tests still run.
needs_browser = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None,
    reason="NO BROWSER: the report's pages are NOT TESTED here. "
    "Install chromium and chromium-driver (Debian: apt-get install chromium chromium-driver)",
)


class Browser:
    """A page in Chromium: its elements, its console and what it asked for."""

    def __init__(self, driver: Chrome):
        self.driver = driver

    def open(self, address: str | Path) -> None:
        """Open a file or an address and wait until the page is ready."""
        target = address.resolve().as_uri() if isinstance(address, Path) else address
        self.driver.get(target)
        self.wait("return document.documentElement.dataset.ready === 'yes'")

    def run(self, script: str, *args: object) -> Any:
        """Run a script in the page."""
        return self.driver.execute_script(script, *args)

    def wait(self, script: str, *args: object, seconds: float = 30.0) -> Any:
        """Wait until a script returns something true; what it returned."""
        return WebDriverWait(self.driver, seconds, 0.05).until(lambda _: self.run(script, *args))

    def text(self, selector: str) -> str:
        """What a person reads in an element."""
        return self.run("return document.querySelector(arguments[0]).innerText", selector)

    def click(self, selector: str) -> None:
        """Click an element."""
        self.run("document.querySelector(arguments[0]).click()", selector)

    def set(self, selector: str, value: object) -> None:
        """Set a control to a value, as its user would: it tells the page."""
        self.run(
            "const one = document.querySelector(arguments[0]); one.value = arguments[1];"
            "one.dispatchEvent(new Event('input', {bubbles: true}));"
            "one.dispatchEvent(new Event('change', {bubbles: true}))",
            selector,
            value,
        )

    def source(self, panel: str, name: str) -> dict[str, Any]:
        """The columns of a source of a chart."""
        script = """
            const done = arguments[arguments.length - 1];
            longpass.chart(arguments[0]).then((found) => {
              const data = found.get_model_by_name(arguments[1]).data;
              done(Object.fromEntries(Object.entries(data).map(
                ([key, value]) => [key, Array.from(value, (one) => one)])));
            });"""
        return self.driver.execute_async_script(script, panel, name)

    def errors(self) -> list[str]:
        """What the console has complained about since it was last asked."""
        entries = self.driver.get_log("browser")
        return [entry["message"] for entry in entries if entry["level"] in ("SEVERE", "WARNING")]

    def requests(self) -> list[str]:
        """Addresses that were asked for since this was last asked."""
        entries = [
            json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")
        ]
        return [
            entry["params"]["request"]["url"]
            for entry in entries
            if entry["method"] == "Network.requestWillBeSent"
        ]

    def point_at(self, panel: str) -> None:
        """Move the mouse over the first point of a chart of scores."""
        script = """
            const done = arguments[arguments.length - 1];
            longpass.chart(arguments[0]).then((found) => {
              const chart = found.roots()[0];
              const view = Bokeh.index.find_one(chart);
              const {data} = found.get_model_by_name('points');
              const box = document.querySelector(`[data-panel="${arguments[0]}"]`);
              box.scrollIntoView({block: 'center'});
              setTimeout(() => {
                const frame = view.frame;
                const area = view.canvas_view.el.getBoundingClientRect();
                done([area.x + frame.x_scale.compute(data.x[0]),
                  area.y + frame.y_scale.compute(data.y[0])]);
              }, 200);
            });"""
        x, y = self.driver.execute_async_script(script, panel)
        actions = ActionChains(self.driver)
        actions.w3c_actions.pointer_action.move_to_location(round(x) + 3, round(y) + 2)
        actions.w3c_actions.pointer_action.move_to_location(round(x), round(y))
        actions.perform()

    def tip(self) -> str:
        """What the tip over a point says, wherever Bokeh keeps it."""
        return self.wait(
            """
            const found = [];
            const look = (root) => { for (const one of root.querySelectorAll('*')) {
              const isTip = String(one.className).includes('Tooltip') && one.shadowRoot;
              if (isTip) found.push(one.shadowRoot.textContent);
              if (one.shadowRoot) look(one.shadowRoot);
            } };
            look(document);
            return found.join(' ').includes('accuracy') ? found.join(' ') : null;""",
            seconds=10,
        )


@contextlib.contextmanager
def start_browser() -> Iterator[Browser]:
    """Chromium without a window; no name of a host is found, except for this machine's."""
    options = ChromeOptions()
    options.binary_location = CHROMIUM or ""
    for flag in (
        "--headless=new",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--disable-component-update",
        "--no-first-run",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
        "--window-size=1400,1000",
    ):
        options.add_argument(flag)
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")  # Chromium refuses root otherwise
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = Chrome(options=options, service=Service(DRIVER))
    try:
        yield Browser(driver)
    finally:
        driver.quit()
