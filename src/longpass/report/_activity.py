"""Sweeps, studies, populations and single runs: how far each is, how fast, how much is left."""

import collections
import dataclasses
import math
import os
import platform
import time
from pathlib import Path
from typing import Literal

from longpass._json import JsonObject
from longpass.records import LOCK, read_json
from longpass.report._run import Number

_WINDOW = 600.0  # seconds: the rate is that of this time

ActivityKind = Literal["sweep", "study", "population", "run"]


@dataclasses.dataclass
class Activity:
    """Something that runs in a folder, or ran there."""

    folder: Path
    shown: str
    """The folder, as text."""
    kind: ActivityKind
    unit: str
    """What is counted."""
    total: Number | None = None
    """How many there will be; None if it is not recorded."""
    done: Number = 0.0
    running: bool = False
    rate: Number | None = None
    """Units per second."""
    seen: collections.deque[tuple[float, Number]] = dataclasses.field(
        default_factory=collections.deque
    )
    """(Time, how many were done), oldest first."""

    def look(self, done: Number, rate: Number | None = None) -> None:
        """Take in how far it is now.

        **Arguments:**

        - `done`: units so far.
        - `rate`: units per second, if they are recorded; otherwise they are timed here.
        """
        now = time.monotonic()
        self.done, self.running = done, is_held(self.folder)
        if not self.seen or self.seen[-1][1] != done:
            self.seen.append((now, done))
        while len(self.seen) > 2 and self.seen[1][0] < now - _WINDOW:
            self.seen.popleft()
        began, before = self.seen[0]
        timed = (done - before) / (now - began) if done > before and now > began else None
        self.rate = (rate or timed) if self.running else None

    def to_json(self) -> JsonObject:
        """As the page reads it."""
        left = None
        if self.rate and self.total is not None:
            left = max(0.0, self.total - self.done) / self.rate
        return {
            "folder": self.shown,
            "kind": self.kind,
            "unit": self.unit,
            "total": self.total,
            "done": self.done,
            "running": self.running,
            "rate": self.rate,
            "left": left,
        }


def count_planned(plan: JsonObject) -> float | None:
    """How many runs the plan of a sweep has; None if the plan has another form than ours."""
    try:
        tasks = len(plan["tasks"]) if "tasks" in plan else 1
        cells = tasks * len(plan["memories"]) * len(plan["truncations"])
        # The lists of a search for defaults; an empty list stands for the default.
        searched = ("learning_rates", "epsilons", "bases", "num_pools", "sizes")
        cells *= math.prod(max(1, len(plan[name])) for name in searched if name in plan)
        return float(cells * (plan["runs"] if "runs" in plan else plan["seeds"]))
    except (KeyError, TypeError):
        return None


def is_held(folder: Path) -> bool:
    """Whether a process holds a folder, as far as can be told without taking its lock.

    The lock's file names a process and a host. On another host we cannot ask for the process.
    """
    try:
        held = read_json(folder / LOCK, "a lock")
        if held["host"] != platform.node():
            return False
        os.kill(held["process"], 0)
    except PermissionError:
        return True  # another user's process
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return False
    return True
