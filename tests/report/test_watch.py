"""The live page: a server that only reads, only for those who may ask, and shows what is new."""

import contextlib
import http.client
import json
import re
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from longpass.report import Follower, _server, make_server
from tests.helpers import SMALL, TASK, start_longpass
from tests.report.browser import needs_browser
from tests.report.made_up import append, stream_line, write_sweep

browsing = [pytest.mark.slow, pytest.mark.xdist_group("browser")]


@contextlib.contextmanager
def serve(folder: Path, **options) -> Iterator[tuple[Follower, int]]:
    """(Follower, port) of a server of a folder."""
    follower = Follower([folder])
    server = make_server(follower, **options)
    follower.store.refresh()
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield follower, server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


def ask(
    port: int, path: str = "/", method: str = "GET", headers: dict[str, str] | None = None
) -> tuple[int, bytes]:
    """(Status, content) of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    with contextlib.closing(connection):
        connection.request(method, path, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_sweep(tmp_path / "sweep")
    return tmp_path


def test_only_this_machine_is_answered_and_only_under_its_own_names(folder):
    with serve(folder) as (_, port):
        for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"LOCALHOST:{port}"):
            assert ask(port, headers={"Host": host})[0] == 200
        for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port + 1}"):
            for path in ("/", "/records?since=0&claims=-1"):
                status, content = ask(port, path, headers={"Host": host})
                assert status == 403, host
                assert b"chain" not in content
        records = "/records?since=0&claims=-1"
        assert ask(port, records, headers={"Sec-Fetch-Site": "cross-site"})[0] == 403
        assert ask(port, records, headers={"Sec-Fetch-Site": "same-origin"})[0] == 200
    server = make_server(Follower([folder]))
    assert server.server_address[0] == "127.0.0.1"
    server.server_close()


def test_further_names_are_answered_if_they_are_given(folder):
    with serve(folder, names=("Lab-7",)) as (_, port):
        assert ask(port, headers={"Host": f"lab-7:{port}"})[0] == 200


def test_no_request_changes_anything(folder):
    def look() -> dict[str, tuple[int, bytes]]:
        files = [path for path in folder.rglob("*") if path.is_file()]
        return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}

    before = look()
    with serve(folder) as (follower, port):
        version = follower.store.version
        for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"):
            assert ask(port, "/records?since=0&claims=-1", method)[0] == 501
        for path in ("/records", "/sweep/plan.json", "/../../etc/passwd", "/static/core.js", "//"):
            assert ask(port, path)[0] in (200, 404)
        assert ask(port, "/records?since=0&claims=x")[0] == 400
        assert ask(port, "/", "HEAD") == (200, b"")
        assert follower.store.version == version
    assert look() == before


def test_a_page_is_told_what_is_new_and_no_more(folder):
    with serve(folder) as (follower, port):
        first = json.loads(ask(port, "/records?since=0&claims=-1")[1])
        assert first["runs"]["count"] == 36
        path = f"/records?since={first['version']}&claims=-1"
        assert json.loads(ask(port, path)[1])["runs"]["count"] == 0
        append(folder / "sweep" / "records.jsonl", stream_line(0.5, seed=50), '{"event": "res')
        follower.store.refresh()
        change = json.loads(ask(port, path)[1])
        assert change["runs"]["count"] == 1
        assert change["began"] == first["began"]
        (sweep,) = change["activities"]
        assert (sweep["done"], sweep["total"]) == (37, 48)


def test_a_port_that_is_taken_is_refused(folder):
    with (
        serve(folder) as (follower, port),
        pytest.raises(ValueError, match=f"port is {port} at 127.0.0.1, which cannot be used"),
    ):
        make_server(follower, port=port)


def test_stopping_waits_for_what_is_being_evaluated(folder, monkeypatch):
    """Python crashes if it shuts down while a thread imports JAX or runs its code."""
    began, ended = threading.Event(), threading.Event()

    def place_slowly(store):
        began.set()
        time.sleep(0.2)
        ended.set()

    monkeypatch.setattr(_server, "_EVALUATE_AFTER", 0.0)
    monkeypatch.setattr(_server, "place_agents", place_slowly)
    follower = Follower([folder])
    follower.start()
    assert began.wait(10)
    follower.stop()
    assert ended.is_set()


@contextlib.contextmanager
def watch(folder: Path) -> Iterator[str]:
    """The address of `longpass watch`, which Ctrl-C must end."""
    with start_longpass("watch", folder) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.search(r"at (http://127\.0\.0\.1:\d+/) \(Ctrl-C", line)
            assert found, line or process.communicate()
            yield found[1]
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0


@needs_browser
class TestLive:
    """In a browser, beside a run that trains."""

    pytestmark = browsing

    def test_the_page_grows_while_a_run_trains(self, browser, tmp_path):
        runs = tmp_path / "runs"
        runs.mkdir()
        with watch(runs) as address:
            browser.requests()
            browser.open(address)
            assert "0 of 0 runs" in browser.text("#runs-count")
            write_sweep(runs / "sweep", runs=1)
            browser.wait("return longpass.store.runs.size === 12")
            flags = ("--steps", 100_000, "--out", runs / "agent")
            with start_longpass("train", *TASK, *SMALL, *flags) as training:
                agent = "[...longpass.store.runs.values()].find((run) => run.kind === 'agent')"
                browser.wait(f"return {agent}", seconds=120)
                points = browser.wait(f"return {agent}.points")
                browser.wait(f"return {agent}.points > {points}")
                assert browser.run(f"return {agent}.state") == "running"
                assert "steps" in browser.text("#activities")
                assert "per second" in browser.text("#activities")
                browser.click("#tab-curves")
                browser.set("#curves-task", "cued-catch")
                length = len(browser.source("curves-linear", "mean")["xs"][0])
                assert length > 0
                training.send_signal(signal.SIGTERM)
                training.communicate()
            browser.wait(f"return {agent}.state !== 'running'")
            asked = browser.requests()
            others = [one for one in asked if not one.startswith((address, "data:", "blob:"))]
            assert others == []
            assert browser.errors() == []
        browser.wait("return document.querySelector('#status').innerText.includes('not connected')")
        browser.driver.get("about:blank")
        browser.errors()
