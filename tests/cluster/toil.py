"""Made-up work for workers, and a made-up plan: nothing here takes time to load or to do."""

import os
import time


class Numbers:
    """Runs that have their numbers squared."""

    name = "numbers"

    def __init__(self, count):
        self.groups = [(i,) for i in range(count)]

    def check(self):
        pass

    def __len__(self):
        return len(self.groups)

    def run(self, i):
        return ("square", i)

    def to_dict(self):
        return {"name": self.name, "runs": len(self)}


def obey(settings, watch):
    """Do what the settings say; news have the process in the place of an accuracy."""
    ((what, number),) = settings
    if what == "fail":
        raise MemoryError("no room")
    if what == "threads":
        return [{name: os.environ.get(name) for name in ("XLA_FLAGS", "NPROC")}]
    for share in (0.0, 0.5):
        watch(share, [float(os.getpid())])
        time.sleep(0.05)
    while what == "go on":
        watch(0.5, [float(os.getpid())])
        time.sleep(0.02)
    return [{"square": number**2}]
