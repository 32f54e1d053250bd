"""Take the README's picture of the report, from the records in results/, in Chromium.

python scripts/picture_report.py    # writes docs/images/report.png
"""

import os
import sys
import tempfile
import time
from pathlib import Path

from longpass.report import write_report

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "images" / "report.png"
WIDTH, HEIGHT = 1185, 790
_DRAWN_SECONDS = 3.0  # charts are drawn after the page is ready


def main() -> None:
    """Write the report, open its figures, and take the picture."""
    os.chdir(ROOT)  # the page says where records are
    sys.path.insert(0, str(ROOT))  # the browser is that of the tests
    from tests.report.browser import start_browser

    with tempfile.TemporaryDirectory() as folder, start_browser() as browser:
        page = Path(folder) / "report.html"
        write_report([Path("results")], page)
        command = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", command)
        browser.open(page)
        browser.click("#tab-figures")
        browser.run("document.documentElement.style.overflow = 'hidden'")  # no scroll bar
        time.sleep(_DRAWN_SECONDS)
        browser.driver.save_screenshot(str(PICTURE))
    print(f"wrote {PICTURE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
