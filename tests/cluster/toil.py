"""Made-up work for workers, and a made-up plan: nothing here takes time to load or to do."""

import os
import time


class Numbers:
    """Runs whose settings are their numbers."""

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


def square(settings, watch):
    """A tenth of a second of work. It tells its process in the place of an accuracy."""
    for share in (0.0, 0.5):
        watch(share, [float(os.getpid())])
        time.sleep(0.05)
    return [{"square": number**2, "process": os.getpid()} for number in settings]


def forever(settings, watch):
    """Work that has no end."""
    while True:
        watch(0.5, [float(os.getpid())])
        time.sleep(0.02)


def fail_at_one(settings, watch):
    """Number 1 fails."""
    if settings == (1,):
        raise MemoryError("no room")
    return square(settings, watch)
