"""A Ray cluster of three hosts that are killed, cut off, slowed down, and join late.

Hosts are network namespaces of this machine (`_network.py`). The sweep is made up (`_made_up.py`):
its engine, driver, workers and records are those of every sweep. After each fault every run must be
recorded once, equal to that of the local engine; `train` must continue to learn.
"""

import itertools
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from chaos._folders import name_difference, read_folder
from chaos._network import Network, why_not_permitted
from chaos._rows import Row

HOSTS = 3
_PORT = 6379
_RUNS = 24
_STEPS = 80_000
_TRAIN = ["train", "cued-catch", "--num-trials", "3", "--initial-cue-duration", "1"]
_TRAIN += ["--reward-free-trials", "0", "--pool-size", "8", "--num-pools", "3", "--envs", "4"]
_TRAIN += [
    "--rollout",
    "20",
    "--block-every",
    "5",
    "--updates-per-call",
    "2",
    "--steps",
    str(_STEPS),
]


def run(seconds: float, seed: int, scratch: Path) -> list[Row]:
    """One row per fault.

    **Arguments:**

    - `seconds`: no new fault is tried after this time.
    - `seed`: nothing is drawn here.
    - `scratch`: a folder for the runs.
    """
    reason = why_not_permitted()
    if reason:
        sys.stderr.write(f"cluster: SKIPPED, {reason}\n")
        return [Row("a cluster that loses nodes", 0, 0, 0, None, f"skipped: {reason}")]
    until = time.monotonic() + seconds
    local = scratch / "local"
    words = [sys.executable, "-m", "chaos._made_up", "local", "", str(_RUNS), str(local)]
    subprocess.run(words, check=True)
    rows: list[Row] = []
    with Network(HOSTS) as network, Cluster(network, scratch) as cluster:
        for host in range(HOSTS):
            cluster.start_host(host)
        calm = _try(cluster, scratch / "calm", local, lambda _: "")
        rows.append(_row("no fault, three nodes", calm, 0.0))
        for name, fault in FAULTS.items():
            if time.monotonic() > until:
                sys.stderr.write(f"cluster: no time was left for {name}\n")
                continue
            tried = _try(cluster, scratch / name.replace(" ", "-"), local, fault)
            rows.append(_row(name, tried, calm[1]))
        if time.monotonic() < until:
            rows.append(_lose_actors(cluster, scratch / "train"))
    return rows


class Cluster:
    """Ray on the hosts of a network, with a token.

    **Arguments:**

    - `network`: the hosts. The first one is the head, on which drivers run.
    - `scratch`: for the logs.
    """

    def __init__(self, network: Network, scratch: Path):
        self.network, self._scratch = network, scratch
        self.environment = os.environ | {
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_worker_niceness": "0",
        }
        self._nodes: list[subprocess.Popen[bytes]] = []
        # Short, because sockets lie below it.
        self._folders = tempfile.TemporaryDirectory(prefix="lpc-", ignore_cleanup_errors=True)

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *_: object) -> None:
        for host in range(HOSTS):
            self.network.kill_host(host)
        for node in self._nodes:
            node.wait()
        self._folders.cleanup()

    @property
    def address(self) -> str:
        """Of the cluster."""
        return f"{self.network.addresses[0]}:{_PORT}"

    def start_host(self, host: int) -> None:
        """Start Ray on a host, and wait until it has joined."""
        folder = Path(self._folders.name) / f"{host}-{len(self._nodes)}"
        place = ["--head", f"--port={_PORT}"] if host == 0 else [f"--address={self.address}"]
        where = [f"--node-ip-address={self.network.addresses[host]}", f"--temp-dir={folder}"]
        size = ["--num-cpus=1", "--object-store-memory=80000000"]
        ray = str(Path(sys.executable).parent / "ray")
        words = [ray, "start", *place, *where, *size, "--include-dashboard=false", "--block"]
        # Only the head may choose the folder.
        words = [word for word in words if host == 0 or not word.startswith(("--temp", "--incl"))]
        log = self._scratch / f"host-{host}-{len(self._nodes)}.log"
        node = self._start(host, words, log)
        self._nodes.append(node)
        while "Ray runtime started" not in log.read_text():
            if node.poll() is not None:
                raise RuntimeError(f"Ray did not start on host {host}: {log.read_text()[-1000:]}")
            time.sleep(0.1)

    def start_driver(self, words: list[str], log: Path) -> "subprocess.Popen[bytes]":
        """Start a Python program on the head."""
        return self._start(0, [sys.executable, "-m", *words], log)

    def _start(self, host: int, words: list[str], log: Path) -> "subprocess.Popen[bytes]":
        with log.open("ab") as file:
            return subprocess.Popen(
                self.network.command(host, words),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env=self.environment,
            )


class Drive:
    """A sweep on the cluster, as a fault sees it."""

    def __init__(self, cluster: Cluster, out: Path):
        self.cluster, self.out = cluster, out
        self.log = out.with_suffix(".log")
        self.start()

    def start(self) -> None:
        """Start the driver."""
        words = ["chaos._made_up", "ray", self.cluster.address, str(_RUNS), str(self.out)]
        self.driver = self.cluster.start_driver(words, self.log)

    def await_lines(self, lines: int, seconds: float = 300.0) -> None:
        """Wait until there are records, this many."""
        path, until = self.out / "records.jsonl", time.monotonic() + seconds
        while not path.exists() or path.read_bytes().count(b"\n") < lines:
            if self.driver.poll() is not None or time.monotonic() > until:
                tail = self.log.read_text()[-500:]
                raise RuntimeError(f"the sweep did not get to {lines} records: {tail}")
            time.sleep(0.05)


def _kill_node(drive: Drive) -> str:
    drive.await_lines(2)
    drive.cluster.network.kill_host(2)
    return ""


def _join_late(drive: Drive) -> str:
    """The third host was killed before: it joins while the sweep runs."""
    drive.await_lines(1)
    drive.cluster.start_host(2)
    return ""


def _cut_off(drive: Drive) -> str:
    drive.await_lines(2)
    with drive.cluster.network.cut_off(2):
        time.sleep(20.0)
    return ""


def _slow_down(drive: Drive) -> str:
    with drive.cluster.network.slow_down(1) as words:
        drive.driver.wait(600)
    return words


def _kill_driver(drive: Drive) -> str:
    drive.await_lines(3)
    for pid in drive.cluster.network.processes(0):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        if b"chaos._made_up" in words:
            os.kill(pid, 9)
    drive.driver.wait()
    drive.start()
    return "resumed"


FAULTS: dict[str, Callable[[Drive], str]] = {
    "a node is killed": _kill_node,
    "a node joins late": _join_late,
    "a node is cut off for 20 s": _cut_off,
    "a slow link that loses packets": _slow_down,
    "the driver is killed and resumed": _kill_driver,
}

Tried = tuple[str | None, float, str]
"""(What was wrong, seconds, what else there is to know)."""


def _try(cluster: Cluster, out: Path, local: Path, fault: Callable[[Drive], str]) -> Tried:
    began = time.monotonic()
    drive = Drive(cluster, out)
    try:
        note = fault(drive)
        status = drive.driver.wait(600)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        drive.driver.kill()
        return f"{error}"[-300:], time.monotonic() - began, ""
    seconds = time.monotonic() - began
    if status != 0:
        return f"exit status {status}: {drive.log.read_text()[-300:]}", seconds, note
    return name_difference(read_folder(out), read_folder(local)), seconds, note


def _row(name: str, tried: Tried, calm: float) -> Row:
    wrong, seconds, note = tried
    if wrong:
        sys.stderr.write(f"cluster, {name}: {wrong}\n")
    lost = int(wrong is not None)
    return Row(f"Ray, {name}", 1, 1 - lost, lost, seconds - calm, wrong or note)


def _lose_actors(cluster: Cluster, out: Path) -> Row:
    """Kill a node under `train`: the others act on, and it learns to the end."""
    log = out.with_suffix(".log")
    where = ["--engine", "ray", "--address", cluster.address, "--actors", "3", "--out", str(out)]
    driver = cluster.start_driver(["longpass", *_TRAIN, *where], log)
    path = out / "records.jsonl"
    while driver.poll() is None and (not path.exists() or path.read_bytes().count(b"\n") < 10):
        time.sleep(0.05)
    cluster.network.kill_host(1)
    status = driver.wait(900)
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    progress = [line for line in lines if line["event"] == "progress"]
    name = "a node is killed under `train`"
    if status != 0 or not progress or progress[-1]["steps"] < _STEPS:
        return _row(name, (f"exit status {status}: {log.read_text()[-300:]}", 0.0, ""), 0.0)
    gaps = [b["seconds"] - a["seconds"] for a, b in itertools.pairwise(progress)]
    first, last = progress[9]["return_100"], progress[-1]["return_100"]
    lost = progress[-1]["lost"]
    note = f"return {first:.2f} at the kill, {last:.2f} at the end; {lost:.0f} actor(s) lost"
    return _row(name, (None if lost else "the kill hit no actor", max(gaps), note), 0.0)
