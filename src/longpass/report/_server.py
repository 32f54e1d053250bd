"""A page that follows runs: a small server that only reads.

It answers GET and HEAD for two addresses, the page and what changed; nothing that it is asked can
change anything. It takes requests only under the names that it was told, so that a page from
elsewhere whose name is made to point here (DNS rebinding) gets no answer. Bokeh's own server is not
used: its protocol lets a page change the server's documents, and it keeps a copy of all data for
every page that is open.
"""

import functools
import json
import threading
import time
from collections.abc import Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from longpass._json import JsonObject
from longpass.report._page import make_page
from longpass.report._payload import pack_store
from longpass.report._places import evaluate_claims, place_agents, place_streams
from longpass.report._store import Store

LOOPBACK = "127.0.0.1"
_EVERY = 0.5  # seconds from one look at the files to the next
_EVALUATE_AFTER = 3.0  # seconds from the start
_CLAIMS_EVERY = 30.0  # seconds: evaluating them takes a few
_BATCH = 2000  # runs per answer: a page with many shows the first ones early


class Follower:
    """Keeps a store up to date in threads of its own, and the claims with it.

    **Arguments:**

    - `folders`: where to look.
    """

    def __init__(self, folders: Sequence[Path]):
        self.store = Store(folders)
        self.began = time.time_ns()
        self.claims: list[JsonObject] | None = None
        self.claims_version = -1
        """The version of the store that the claims were evaluated from."""
        self._stopped = threading.Event()
        self._changed = threading.Event()
        self._threads = [
            threading.Thread(target=work, daemon=True) for work in (self._follow, self._evaluate)
        ]

    def start(self) -> None:
        """Read what there is, then follow it."""
        self.store.refresh()
        place_streams(self.store)
        self._changed.set()
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End the threads, and wait for them: Python crashes if it shuts down while one of them
        imports JAX."""
        self._stopped.set()
        self._changed.set()
        for thread in self._threads:
            thread.join()

    def answer(self, since: int, claims: int) -> JsonObject:
        """What changed since a version of the store, and the claims if they are newer."""
        answer = pack_store(self.store, since, _BATCH) | {"began": self.began}
        if self.claims is not None and self.claims_version > claims:
            answer |= {"claims": self.claims, "claims_version": self.claims_version}
        return answer

    def _follow(self) -> None:
        while not self._stopped.wait(_EVERY):
            if self.store.refresh():
                place_streams(self.store)
                self._changed.set()

    def _evaluate(self) -> None:
        """Place new agents in the figures and evaluate the claims, whenever there is something new.

        This imports JAX if there are agents, and takes seconds: it must not hold up the rest.
        """
        last = 0.0
        # The page that is opened first comes first.
        self._stopped.wait(_EVALUATE_AFTER)
        while self._changed.wait() and not self._stopped.is_set():
            self._changed.clear()
            version = self.store.version
            place_agents(self.store)
            if self._stopped.is_set():
                return
            wait = last + _CLAIMS_EVERY - time.monotonic()
            if self.claims is None or wait <= 0:
                self.claims, self.claims_version = evaluate_claims(self.store), version
                last = time.monotonic()
            elif not self._stopped.wait(min(wait, _EVERY)):
                self._changed.set()


def make_server(
    follower: Follower, host: str = LOOPBACK, port: int = 0, names: Sequence[str] = ()
) -> ThreadingHTTPServer:
    """A server for a follower, bound to its address and not yet serving.

    **Arguments:**

    - `follower`: what it shows.
    - `host`: the address to bind to.
    - `port`: the port; 0 takes one that is free. ValueError if it cannot be bound.
    - `names`: names of this machine under which others may ask, beside `host`.

    **Returns:** the server; `serve_forever` serves.
    """
    folders = ", ".join(map(str, follower.store.folders))
    page = make_page(f"watching {folders}", f"watching {folders}", None, [], live=True)
    hosts: set[str] = set()
    handler = functools.partial(_Handler, follower, page.encode("utf-8", "replace"), hosts)
    try:
        server = ThreadingHTTPServer((host, port), handler)
    except (OSError, OverflowError) as error:
        raise ValueError(
            f"port is {port} at {host}, which cannot be used ({error}): it must be free, or 0"
        ) from None
    bound = server.server_address[1]
    known = {host, LOOPBACK, "localhost", *names}
    hosts.update(f"{name}:{bound}".lower() for name in known)
    return server


class _Handler(BaseHTTPRequestHandler):
    """Answers the page and its questions."""

    protocol_version = "HTTP/1.1"
    server_version, sys_version = "longpass", ""
    timeout = 60

    def __init__(self, follower: Follower, page: bytes, hosts: set[str], *args: Any):
        self._follower, self._page, self._hosts = follower, page, hosts
        super().__init__(*args)  # it answers the request

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def _answer(self) -> None:
        if self.headers.get("Host", "").lower() not in self._hosts:
            self._send(HTTPStatus.FORBIDDEN, "text/plain", b"this name is not ours\n")
            return
        address = urlsplit(self.path)
        if address.path == "/":
            self._send(HTTPStatus.OK, "text/html; charset=utf-8", self._page)
        elif address.path == "/records":
            self._send_records(parse_qs(address.query))
        else:
            self._send(HTTPStatus.NOT_FOUND, "text/plain", b"not here\n")

    def _send_records(self, query: dict[str, list[str]]) -> None:
        # A page from elsewhere could not read the answer: it gets none at all.
        if self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            self._send(HTTPStatus.FORBIDDEN, "text/plain", b"asked by another page\n")
            return
        try:
            since, claims = (int(query.get(name, ["-1"])[0]) for name in ("since", "claims"))
        except ValueError:
            self._send(HTTPStatus.BAD_REQUEST, "text/plain", b"since and claims are numbers\n")
            return
        answer = json.dumps(self._follower.answer(since, claims), separators=(",", ":"))
        self._send(HTTPStatus.OK, "application/json", answer.encode())

    def _send(self, status: HTTPStatus, kind: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the terminal shows the address only."""
