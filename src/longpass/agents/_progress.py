"""How far a run is: what its records say and its checkpoints hold beside the training itself."""

import dataclasses
import math
from typing import Any

import numpy as np

from longpass.agents._impala import Training, Update

RECENT = 3000
"""Episodes whose mean return is a run's result, as in the paper."""


@dataclasses.dataclass
class Progress:
    """How far a run is."""

    updates: int = 0
    steps: int = 0
    episodes: int = 0
    seconds: float = 0.0
    """Spent training, over all sessions."""
    scores: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(0, np.float32))
    """Returns of the last episodes, `RECENT` at most, oldest first."""
    metrics: dict[str, float] = dataclasses.field(default_factory=dict)

    def note(self, update: Update, steps: int, seconds: float) -> tuple[np.ndarray, list[str]]:
        """Count the result of a call, with `steps` environment steps per update.

        (Scores of the episodes that ended, names of the metrics that are no longer numbers.)
        """
        scores = np.asarray(update.scores).ravel()
        scores = scores[~np.isnan(scores)]
        metrics = update.metrics._asdict()
        if update.actors is not None:
            metrics |= update.actors._asdict()
        updates = len(update.scores)
        self.updates += updates
        self.steps += updates * steps
        self.episodes += len(scores)
        self.scores = np.concatenate([self.scores, scores])[-RECENT:]
        self.seconds += seconds
        self.metrics = {name: float(np.mean(values)) for name, values in metrics.items()}
        return scores, [name for name, value in self.metrics.items() if not math.isfinite(value)]

    def mean(self, count: int = RECENT) -> float | None:
        """Mean return of the last `count` episodes; None if there were none."""
        last = self.scores[-count:]
        return float(np.mean(last, dtype=np.float64)) if len(last) else None

    def record(self) -> dict[str, Any]:
        """One line of the run's records."""
        return {
            "updates": self.updates,
            "steps": self.steps,
            "episodes": self.episodes,
            "seconds": round(self.seconds, 2),
            "return_100": self.mean(100),
            "return_3000": self.mean(),
            **{name: float(f"{value:.6g}") for name, value in self.metrics.items()},
        }


def to_save(state: Training, progress: Progress) -> dict[str, Any]:
    """What a checkpoint holds."""
    scores = np.full(RECENT, np.nan, np.float32)
    scores[RECENT - len(progress.scores) :] = progress.scores
    return {
        "training": state,
        "scores": scores,
        "episodes": np.int32(progress.episodes),
        "seconds": np.float32(progress.seconds),
    }


def saved(tree: dict[str, Any], steps: int) -> tuple[Training, Progress]:
    """What a checkpoint held, of a run that makes so many steps an update."""
    scores, updates = np.asarray(tree["scores"]), int(tree["training"].updates)
    progress = Progress(
        updates=updates,
        steps=updates * steps,
        episodes=int(tree["episodes"]),
        seconds=float(tree["seconds"]),
        scores=scores[~np.isnan(scores)],
    )
    return tree["training"], progress
