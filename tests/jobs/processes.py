"""Looking at the processes of workers."""

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


def _runs(process):
    try:
        state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"  # It has ended, and nobody has asked for its exit code yet.
