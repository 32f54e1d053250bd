"""A made-up work function and a made-up plan: they take no time to load or to run."""

import dataclasses
import os
import signal
import time
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Numbers:
    """A plan whose runs square their numbers."""

    count: int
    name: str = "numbers"

    def groups(self, learner=None):
        return [(i,) for i in range(self.count)]

    def check(self):
        pass

    def __len__(self):
        return self.count

    def settings(self, i):
        return i


def square_runs(settings, on_progress):
    """The work function of a sweep of `Numbers`."""
    return [
        {"event": "result", "square": obey(("square", number), on_progress)} for number in settings
    ]


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
