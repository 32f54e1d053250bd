"""Training of runs of sequence classification, from settings to results: one run, or a group."""

import dataclasses
import time
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from longpass._fields import to_json
from longpass.records import Line
from longpass.streams._group import (
    StreamPurpose,
    learners_shape,
    make_shape,
    stack,
    start_streams,
)
from longpass.streams._learners import SymbolSource, make_learner
from longpass.streams._settings import KIND, LearnerName, StreamSettings, choose_learner
from longpass.streams._stream import Cursor
from longpass.streams._tally import Tally, TrainingLimits, init_tally
from longpass.streams._update import Learner

HELD_OUT = 2560  # new sequences that accuracy is measured on, as in 1997
_NO_LIMIT = np.iinfo(np.int32).max

GroupState = tuple[Learner, Cursor]
"""(Learner, cursors of the streams) of a group: all that changes while it is trained."""
Checkpoint = tuple[GroupState, np.float32 | jax.Array]
"""(State of a group, seconds that it was trained for)."""


@dataclasses.dataclass(frozen=True)
class Score:
    """What a run achieved.

    **Arguments:**

    - `accuracy`: on held-out sequences; None if the run diverged.
    - `smoothed_accuracy`: over the last sequences of training; None if the run diverged.
    - `criterion`: sequences until 2,000 in a row were right; None if that never happened.
    - `diverged`: the update at which the loss was not finite; None if it always was.
    - `sequences`, `symbols`, `updates`: how much the run was trained.
    - `curve`: the smoothed accuracy at even steps through training.
    """

    accuracy: float | None
    smoothed_accuracy: float | None
    criterion: int | None
    diverged: int | None
    sequences: int
    symbols: int
    updates: int
    curve: list[float | None]


class StreamTraining:
    """Runs of one shape that are trained together (`longpass.records.Training`).

    They may differ in seed, learning rate, epsilon and base.

    **Arguments:**

    - `settings`: of each run.
    - `checkpoint`: what `StreamTraining.checkpoint` was when training stopped. None: begin.
    - `learner`: what computes the updates. None: native code where there is any, else JAX.
    - `dtype`: of weights and states.
    - `advance_seconds`: about how long one call of `advance` trains.

    >>> from longpass.streams import StreamSettings
    >>> training = StreamTraining([StreamSettings(symbols=6_400)], learner="jax")
    >>> training.updates, training.done
    (0, False)
    """

    def __init__(
        self,
        settings: Sequence[StreamSettings],
        checkpoint: Checkpoint | None = None,
        *,
        learner: LearnerName | None = None,
        dtype: DTypeLike = jnp.float32,
        advance_seconds: float = 0.5,
    ):
        self._began = time.monotonic()
        self.settings = [one.resolved() for one in settings]
        self.shape = make_shape(self.settings)
        self.learner_name = choose_learner(self.settings[0], learner)
        self._learner = make_learner(self.learner_name, self.settings, self.shape, dtype)
        self._limits = _make_limits(self.total_updates, _NO_LIMIT)
        self._advance_seconds = advance_seconds
        self._seconds_before = 0.0
        if checkpoint is None:
            state = self._learner.init_learners()
            cursors = self._learner.start_streams(StreamPurpose.TRAINING)
        else:
            (state, cursors), seconds = checkpoint
            self._seconds_before = float(seconds)
        self.learner = _copy(state)
        """What changes while runs learn, except the cursors."""
        self._source = self._learner.make_source(cursors)

    @property
    def updates(self) -> int:
        """Updates so far."""
        return int(self.learner.tally.updates[0])

    @property
    def total_updates(self) -> int:
        """Updates when training is complete."""
        return self.settings[0].updates

    @property
    def done(self) -> bool:
        """Whether training is complete, or all runs have diverged."""
        diverged = np.asarray(self.learner.tally.diverged)
        return self.updates >= self.total_updates or bool(np.all(diverged >= 0))

    @property
    def smoothed_accuracies(self) -> list[float]:
        """The smoothed accuracy of each run."""
        return self.learner.tally.smoothed.tolist()

    @property
    def seconds(self) -> float:
        """Time since training began, without the time in which it was stopped."""
        return self._seconds_before + time.monotonic() - self._began

    @property
    def checkpoint(self) -> Checkpoint:
        """All that changes: a training made with it continues exactly."""
        return (_copy(self.learner), self._source.cursors), np.float32(self.seconds)

    def advance(self) -> list[Line]:
        """Train for about `advance_seconds`, at least on one block of minibatches.

        **Returns:** no lines: the course of training is in `Score.curve`.
        """
        stop = time.monotonic() + self._advance_seconds
        while not self.done:
            self.learn_block()
            if time.monotonic() >= stop:
                break
        return []

    def learn_block(self) -> None:
        """Train on the next block of minibatches."""
        self.learner = self._learn_block(self.learner, self._source, self._limits)

    def scores(self) -> list[Score]:
        """Measure what the runs have achieved, on held-out sequences too."""
        accuracies = self._measure_accuracies()
        tallies = jax.tree.map(np.asarray, self.learner.tally)
        return [
            _make_score(one, jax.tree.map(lambda leaf, n=n: leaf[n], tallies), accuracies[n])
            for n, one in enumerate(self.settings)
        ]

    def results(self) -> list[Line]:
        """The result lines, one per run. `seconds` is shared equally among runs."""
        scores = self.scores()
        seconds = round(self.seconds / len(scores), 3)
        return [
            {
                "event": "result",
                "kind": KIND,
                "settings": to_json(one),
                **dataclasses.asdict(score),
                "seconds": seconds,
                "together": len(scores),
                "learner": self.learner_name,
            }
            for one, score in zip(self.settings, scores, strict=True)
        ]

    def _learn_block(
        self,
        learner: Learner,
        source: SymbolSource,
        limits: TrainingLimits,
        *,
        frozen: bool = False,
    ) -> Learner:
        stream = source.take()
        return self._learner.learn(learner, stream, limits, frozen=frozen)

    def _measure_accuracies(self) -> list[float]:
        """Accuracy of each run on held-out sequences.

        It learns on them with a learning rate of 0. The memory is not cleared before: in training
        it never was empty either.
        """
        learner = _copy(self.learner)
        tally = init_tally(len(self.shape.task.classes), learner.tally.smoothed.dtype)
        learner = learner._replace(tally=stack([tally] * len(self.settings)))
        source = self._learner.make_source(self._learner.start_streams(StreamPurpose.HELD_OUT))
        limits = _make_limits(_NO_LIMIT, HELD_OUT)
        while np.min(learner.tally.sequences) < HELD_OUT:
            learner = self._learn_block(learner, source, limits, frozen=True)
        return (np.asarray(learner.tally.right) / HELD_OUT).tolist()


def checkpoint_shape(
    settings: Sequence[StreamSettings], dtype: DTypeLike = jnp.float32
) -> Checkpoint:
    """The checkpoint of a training with shapes and dtypes in the place of arrays.

    Nothing is computed or compiled.

    **Arguments:**

    - `settings`: of each run.
    - `dtype`: of weights and states.

    **Returns:**

    A pytree of `jax.ShapeDtypeStruct`s, for `Checkpoints.load`.
    """
    complete = [one.resolved() for one in settings]
    shape = make_shape(complete)
    cursors = jax.eval_shape(lambda: start_streams(complete, shape, StreamPurpose.TRAINING))
    return (learners_shape(complete, shape, dtype), cursors), np.float32(0)


def _make_limits(updates: int, counted_sequences: int) -> TrainingLimits:
    return TrainingLimits(np.array(updates, np.int32), np.array(counted_sequences, np.int32))


def _copy(learner: Learner) -> Learner:
    """A copy in NumPy arrays: learners change or donate what they are given."""
    return jax.tree.map(np.array, learner)


def _make_score(settings: StreamSettings, tally: Tally, accuracy: float) -> Score:
    diverged = int(tally.diverged) >= 0
    return Score(
        accuracy=None if diverged else accuracy,
        smoothed_accuracy=None if diverged else float(tally.smoothed),
        criterion=int(tally.criterion) if tally.criterion >= 0 else None,
        diverged=int(tally.diverged) if diverged else None,
        sequences=int(tally.sequences),
        symbols=int(tally.updates) * settings.minibatch,
        updates=int(tally.updates),
        curve=[None if np.isnan(point) else round(float(point), 4) for point in tally.curve],
    )
