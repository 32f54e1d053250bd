"""Looking at the processes of workers."""

import os
import time
from pathlib import Path


def process_of(progress):
    """The process that reported this progress of `made_up.obey`."""
    return int(progress.scores[0])


def all_end(processes):
    """Whether all of these processes end within half a minute."""
    until = time.monotonic() + 30
    while any(map(_runs, processes)) and time.monotonic() < until:
        time.sleep(0.05)
    return not any(map(_runs, processes))


def cluster_processes():
    """The processes of the tests' cluster."""
    ours, found = f"RAY_TMPDIR={os.environ['RAY_TMPDIR']}".encode(), set()
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if ours in (path / "environ").read_bytes() and int(path.name) != os.getpid():
                found.add(int(path.name))
        except OSError:
            continue
    return found


def listening_addresses(processes):
    """The addresses on which processes listen, as the kernel writes them, without ports."""
    sockets = set()
    for process in processes:
        for handle in Path(f"/proc/{process}/fd").glob("*"):
            try:
                sockets.add(str(handle.readlink()))
            except OSError:
                continue
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in sockets:
                found.add(words[1].split(":")[0])
    return found


def _runs(process):
    try:
        state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"  # It has ended, and nobody has asked for its exit code yet.
