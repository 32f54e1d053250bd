"""A made-up work function and a made-up plan: they take no time to load or to run."""

import os
import signal
import time
from pathlib import Path


class Numbers:
    """A plan whose runs square their numbers."""

    name = "numbers"

    def __init__(self, count):
        self.groups = [(i,) for i in range(count)]

    def check(self):
        pass

    def __len__(self):
        return len(self.groups)

    def run(self, i):
        return i

    def to_dict(self):
        return {"name": self.name, "runs": len(self)}


def square_runs(settings, on_progress):
    """The work function of a sweep of `Numbers`."""
    return [{"square": obey(("square", number), on_progress)} for number in settings]


def obey(payload, on_progress):
    """Do what the payload says. Scores are the number of the process."""
    command, value = payload
    if command == "fail":
        raise MemoryError("no room")
    if command == "environment":
        return {name: os.environ.get(name) for name in ("XLA_FLAGS", "NPROC")}
    if command == "return None":
        return None
    if command == "die" or (command == "die once" and not Path(value).exists()):
        if command == "die once":
            Path(value).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    for fraction in (0.0, 0.5):
        on_progress(fraction, [float(os.getpid())])
        time.sleep(0.05)
    while command == "never end":
        on_progress(0.5, [float(os.getpid())])
        time.sleep(0.02)
    return value**2 if command == "square" else command
