"""kill -9 of `watch`, which only reads: the next one has its port, and shows the same runs."""

import itertools
import json
import os
import random
import shutil
import signal
import socket
import statistics
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from chaos._commands import RECORDED
from chaos._processes import Victim
from chaos._rows import Row

_KILLS = 5  # one after the other, before it is asked
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def kill_watch(seconds: float, seed: int, scratch: Path, goal: int) -> Row:
    """Kill servers at random moments; after some kills, ask the next one and end it by a signal.

    **Arguments:**

    - `seconds`: no new server is started after this time.
    - `seed`: of the moments.
    - `scratch`: a folder for a copy of the records.
    - `goal`: kills.
    """
    rng = random.Random(f"{seed} watch")
    until = time.monotonic() + seconds
    folder = scratch / "records"
    shutil.copytree(RECORDED, folder)
    before, port = _content(folder), _free_port()
    words = ["watch", folder, "--port", port]
    twin = Victim(words, scratch / "twin.log")
    expected = _ask(twin, port)
    duration = time.monotonic() - twin.began
    wrong = _end(twin, signal.SIGTERM)
    kills, lost, costs = 0, 0, []
    for number in itertools.count():
        if kills >= goal or time.monotonic() > until:
            break
        log, count = scratch / f"{number}.log", min(_KILLS, goal - kills)
        for _ in range(count):
            victim = Victim(words, log)
            time.sleep(rng.uniform(0.0, 2 * duration))
            os.kill(victim.pid, signal.SIGKILL)
            victim.wait()
        kills += count
        began = time.monotonic()
        last = Victim(words, log)
        found = [] if _ask(last, port) == expected else ["it does not show the same runs"]
        costs.append(time.monotonic() - began)
        found += _end(last, _SIGNALS[number % len(_SIGNALS)])
        found += ["it touched the records"] if _content(folder) != before else []
        lost += count if found else 0
        wrong += found
    for problem in wrong:
        sys.stderr.write(f"watch: {problem}\n")
    sys.stderr.write(f"watch: {kills} kills, {lost} lost\n")
    cost = statistics.median(costs) if costs else None
    note = "; ".join([f"seed {seed}", *wrong[:2]])
    return Row("kill -9 of `watch`", kills, kills - lost, lost, cost, note)


def _ask(server: Victim, port: int) -> Any:
    """What a server says of all runs, as soon as it says anything; None if it ends before."""
    while server.status() is None:
        try:
            address = f"http://127.0.0.1:{port}/records?since=0"
            with urllib.request.urlopen(address, timeout=30) as answer:
                return json.load(answer)["runs"]
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.01)
    return None


def _end(server: Victim, kind: signal.Signals) -> list[str]:
    """End a server by a signal: what was wrong with that."""
    if server.status() is None:
        os.kill(server.pid, kind)
    status = server.wait(60)
    if status != 0 or "Traceback" in server.text():
        return [f"{kind.name}: it ended with {status}: {server.text()[-200:]}"]
    return [f"{kind.name}: processes were left"] if server.orphans() else []


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def _content(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
