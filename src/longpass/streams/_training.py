"""What a worker does with a group of runs, wherever it is."""

import dataclasses
import time
from collections.abc import Sequence
from typing import Any

from longpass.jobs import OnProgress
from longpass.records import provenance
from longpass.streams import Group, StreamSettings


def train(settings: Sequence[StreamSettings], on_progress: OnProgress) -> list[dict[str, Any]]:
    """Train a group of runs to the end: one record per run.

    `on_progress` is called about once a second with the smoothed accuracy of each run.
    """
    began = time.monotonic()
    group = Group(settings)
    total = group.settings[0].updates
    while not group.done:
        group.advance(seconds=1.0)
        on_progress(group.updates / total, group.smoothed)
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
