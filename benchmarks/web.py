"""How soon the live page shows 10,000 runs of 100 points each, and a record that is new.

The server reads the records of one file (a sweep) or of 10,000 folders (agents). Times are from the
start of each step: reading the records; from opening the address in Chromium until all runs are in
the table, and until their curves are drawn; from appending a record until it is in the table.
"""

import json
import shutil
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

from benchmarks._timing import machine
from longpass.agents import resolve_settings
from longpass.envs import WORLDS
from longpass.records import RECORDS, SETTINGS
from longpass.report import Follower, make_server
from longpass.streams import StreamSettings

RUNS, POINTS, TARGET = 10_000, 100, 3.0
MEMORIES, TRUNCATIONS = ("chain", "parallel", "lstm"), (2, 4, 8, 16, 32, 64, 128, 256)


def main(console: Console) -> dict[str, Any]:
    if not shutil.which("chromium") or not shutil.which("chromedriver"):
        console.print("web: chromium and chromium-driver are not installed: nothing is measured")
        return {}
    rows = {}
    for form, write in (("one file", write_sweep), ("10,000 folders", write_agents)):
        with tempfile.TemporaryDirectory() as folder:
            new = write(Path(folder))
            rows[form] = time_page(Path(folder), new)
    table = Table(
        "records in", "read", "page with all runs", "their curves", "a new record, most of 5",
        title=f"{RUNS:,} runs of {POINTS} points: seconds", caption=machine(),
    )  # fmt: skip
    for form, row in rows.items():
        table.add_row(form, *(f"{row[name]:.2f}" for name in ("read", "page", "curves", "new")))
    console.print(table)
    console.print(f"target: the page with all runs in less than {TARGET:g} s, new ones in 2 s")
    return rows


def stream_line(number: int) -> str:
    """A result of classification."""
    settings = StreamSettings(
        memory=MEMORIES[number % 3], truncation=TRUNCATIONS[number // 3 % 8], seed=number
    ).resolved()
    line = {"event": "result", "kind": "stream", "settings": vars(settings), "commit": "0"}
    curve = [round(point / POINTS * (number % 97) / 97, 4) for point in range(POINTS)]
    line |= {"accuracy": curve[-1], "diverged": None, "symbols": settings.symbols, "curve": curve}
    return json.dumps(line) + "\n"


def write_sweep(folder: Path) -> Path:
    """All runs in one file; where a new one is appended."""
    path = folder / RECORDS
    path.write_text("".join(map(stream_line, range(RUNS))))
    return path


def write_agents(folder: Path) -> Path:
    """One folder per run; a sweep beside them, to which a new run is appended."""
    chosen = {"memory": "chain", "block_every": 3}
    settings = resolve_settings("t-maze", WORLDS["t-maze"].load_params()(), chosen).to_json()
    lines = [
        {
            "event": "progress",
            "updates": 40 * n,
            "steps": 96_000 * n,
            "episodes": 100 * n,
            "seconds": 3.0 * n,
            "return_100": n / POINTS,
            "return_3000": n / POINTS,
            **dict.fromkeys(("loss", "policy_loss", "entropy", "gradient_norm"), 0.123456),
        }
        for n in range(1, POINTS + 1)
    ]
    progress = "".join(json.dumps(line) + "\n" for line in lines)
    for seed in range(RUNS):
        own = settings | {"seed": seed}
        (folder / str(seed)).mkdir()
        (folder / str(seed) / SETTINGS).write_text(json.dumps({"kind": "agent", **own}))
        begin = json.dumps({"event": "begin", "kind": "agent", "settings": own}) + "\n"
        (folder / str(seed) / RECORDS).write_text(begin + progress)
    path = folder / "sweep" / RECORDS
    path.parent.mkdir()
    path.write_text("")
    return path


def time_page(folder: Path, new: Path) -> dict[str, float]:
    """Seconds of each step."""
    follower = Follower([folder])
    server = make_server(follower)
    began = time.perf_counter()
    follower.start()
    read = time.perf_counter() - began
    threading.Thread(target=server.serve_forever, daemon=True).start()
    options = ChromeOptions()
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    driver = Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        began = time.perf_counter()
        driver.get(f"http://127.0.0.1:{server.server_address[1]}/")
        count = f"{RUNS:,}"
        wait(
            driver,
            f"document.getElementById('runs-count').innerText.includes('{count} of {count}')",
        )
        page = time.perf_counter() - began
        began = time.perf_counter()
        driver.execute_script("document.getElementById('tab-curves').click()")
        drawn = "one.get_model_by_name('mean').data.xs.length"
        wait(driver, f"longpass.chart('curves-linear').then((one) => {drawn})")
        curves = time.perf_counter() - began
        latest = 0.0
        for number in range(5):
            with new.open("a") as file:
                file.write(stream_line(RUNS + number))
            began = time.perf_counter()
            wait(driver, f"longpass.store.runs.size === {RUNS + number + 1}")
            latest = max(latest, time.perf_counter() - began)
    finally:
        driver.quit()
        follower.stop()
        server.shutdown()
        server.server_close()
    return {"read": read, "page": page, "curves": curves, "new": latest}


def wait(driver: Chrome, condition: str, seconds: float = 120.0) -> None:
    """Wait until an expression of the page is true."""
    end = time.perf_counter() + seconds
    while not driver.execute_script(f"return {condition}"):
        assert time.perf_counter() < end, condition
        time.sleep(0.01)


if __name__ == "__main__":
    main(Console())
