"""What a worker does with a group of runs, wherever it is."""

import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import Any

from longpass.records import provenance
from longpass.streams._group import Group
from longpass.streams._settings import StreamSettings

# Called about once a second with (share done, smoothed accuracy of each run).
Watch = Callable[[float, list[float]], None]


def train(settings: Sequence[StreamSettings], watch: Watch) -> list[dict[str, Any]]:
    """Train a group of runs to the end: one record each."""
    began = time.monotonic()
    group = Group(settings)
    total = group.settings[0].updates
    while not group.done:
        group.advance(seconds=1.0)
        watch(group.updates / total, group.smoothed)
    scores = group.finish()
    seconds = time.monotonic() - began
    return [
        {
            "settings": one.to_dict(),
            **dataclasses.asdict(score),
            "seconds": round(seconds / len(scores), 3),
            "together": len(scores),
            **provenance(),
        }
        for one, score in zip(group.settings, scores, strict=True)
    ]
