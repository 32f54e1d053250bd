"""How far a run is: what it records, and what its checkpoints hold."""

import dataclasses
import math
from typing import Any

import jax
import numpy as np

from longpass.agents._impala import TrainState, UpdateResult
from longpass.agents._settings import RECENT, LearnerSettings
from longpass.records import Line

Checkpoint = dict[str, Any]
"""The state of a training and what its progress is counted from, as a pytree of arrays."""


@dataclasses.dataclass
class Progress:
    """How far a run is."""

    updates: int = 0
    steps: int = 0
    optimiser_steps: int = 0
    episodes: int = 0
    seconds: float = 0.0
    """Time spent training, over all sessions."""
    scores: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(0, np.float32))
    """Returns of the last episodes, at most `RECENT`, oldest first."""
    metrics: dict[str, float] = dataclasses.field(default_factory=dict)
    """Means over the last call."""

    def add_result(
        self, result: UpdateResult, learner: LearnerSettings, seconds: float
    ) -> list[str]:
        """Count the result of a call.

        **Arguments:**

        - `result`: what the call measured, updates first, as NumPy arrays.
        - `learner`: its settings.
        - `seconds`: how long the call took.

        **Returns:** the names of the metrics that are not finite.
        """
        scores = np.asarray(result.scores).ravel()
        scores = scores[~np.isnan(scores)]
        metrics = result.metrics._asdict()
        if result.actors is not None:
            metrics |= result.actors._asdict()
        updates = len(result.scores)
        self.updates += updates
        self.steps += updates * learner.steps
        self.optimiser_steps += updates * learner.optimiser_steps
        self.episodes += len(scores)
        self.scores = np.concatenate([self.scores, scores])[-RECENT:]
        self.seconds += seconds
        self.metrics = {name: float(np.mean(values)) for name, values in metrics.items()}
        return [name for name, value in self.metrics.items() if not math.isfinite(value)]

    def mean_return(self, count: int = RECENT) -> float | None:
        """Mean return of the last `count` episodes; None if there were none."""
        last = self.scores[-count:]
        return float(np.mean(last, dtype=np.float64)) if len(last) else None

    def counts(self) -> dict[str, int]:
        """Updates, environment steps, steps of the optimiser and episodes so far."""
        return {
            "updates": self.updates,
            "steps": self.steps,
            "optimiser_steps": self.optimiser_steps,
            "episodes": self.episodes,
        }

    def summary(self) -> Line:
        """What a run's result records."""
        return {
            **self.counts(),
            "seconds": round(self.seconds, 2),
            "return_100": self.mean_return(100),
            "return_3000": self.mean_return(),
        }

    def line(self) -> Line:
        """One progress line of the run's records."""
        metrics = {name: float(f"{value:.6g}") for name, value in self.metrics.items()}
        return {"event": "progress", **self.summary(), **metrics}


def to_checkpoint(state: TrainState, progress: Progress) -> Checkpoint:
    """The checkpoint of a training."""
    scores = np.full(RECENT, np.nan, np.float32)
    scores[RECENT - len(progress.scores) :] = progress.scores
    return {
        "training": state,
        "scores": scores,
        "episodes": np.int32(progress.episodes),
        "seconds": np.float32(progress.seconds),
    }


def checkpoint_shapes(state: TrainState) -> Checkpoint:
    """The checkpoint of a state that has only shapes and dtypes, likewise."""
    return to_checkpoint(state, Progress())


def from_checkpoint(
    checkpoint: Checkpoint, learner: LearnerSettings
) -> tuple[TrainState, Progress]:
    """What `to_checkpoint` was given, except for the metrics.

    **Arguments:**

    - `checkpoint`: the checkpoint.
    - `learner`: the settings of the run's learner.
    """
    scores, updates = np.asarray(checkpoint["scores"]), int(checkpoint["training"].updates)
    progress = Progress(
        updates=updates,
        steps=updates * learner.steps,
        optimiser_steps=updates * learner.optimiser_steps,
        episodes=int(checkpoint["episodes"]),
        seconds=float(checkpoint["seconds"]),
        scores=scores[~np.isnan(scores)],
    )
    return checkpoint["training"], progress


def to_numpy(result: UpdateResult) -> UpdateResult:
    """The same result as NumPy arrays."""
    return jax.tree.map(np.asarray, result)
