"""Runs of sequence classification, from settings to scores: one, or a group that learns at once."""

import dataclasses
import functools
import time
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import PRNGKeyArray

from longpass.networks import Classifier, make_classifier
from longpass.streams._flat_weights import Layout, weights_of
from longpass.streams._readout import form_of
from longpass.streams._settings import StreamSettings
from longpass.streams._stream import Cursor, Stream, Task, begin
from longpass.streams._update import (
    Hyper,
    Learner,
    Shape,
    Tally,
    Until,
    draw,
    learn,
    new_tally,
)

HELD_OUT = 2560  # fresh sequences that accuracy is measured on, as in 1997
_ALL = np.iinfo(np.int32).max


@dataclasses.dataclass(frozen=True)
class Score:
    """What a run achieved.

    `accuracy` is on held-out sequences, `smoothed_accuracy` that of the last ones in training;
    both are None for a run that diverged, at update `diverged`. `criterion`: sequences until
    2,000 in a row were right, None if that never came. `curve`: the smoothed accuracy at even
    steps through training.
    """

    accuracy: float | None
    smoothed_accuracy: float | None
    criterion: int | None
    diverged: int | None
    sequences: int
    symbols: int
    updates: int
    curve: list[float | None]


class Group:
    """Runs of one shape that learn together: they differ in seed, learning rate, epsilon and base.

    `state`, a pytree of arrays, is all that changes: with it put back, a group goes on as if it
    had never stopped.
    """

    def __init__(self, settings: Sequence[StreamSettings], dtype: Any = jnp.float32):
        self.settings = [one.resolved() for one in settings]
        first = self.settings[0]
        if any(shape_of(one) != shape_of(first) for one in self.settings):
            raise ValueError("runs of a group must be of one shape")
        task = first.make_task()
        self.shape = Shape(task, first.truncation, first.batch_size, first.clear_state)
        # One form for all bases: what a base changes is in `Hyper`, so programs are shared.
        alike = first if first.b is None else dataclasses.replace(first, b=2.0)
        self._layout = Layout.of(make_network(alike, dtype))
        self._until = _until(first.updates, _ALL)
        runs = [_begin(one, self.shape, dtype) for one in self.settings]
        hypers, learners, cursors = zip(*runs, strict=True)
        self._hyper: Hyper = _stack(hypers)
        self.state: tuple[Learner, Cursor] = (_stack(learners), _stack(cursors))
        # Cursors, and what was drawn from there ahead of time.
        self._drawn: tuple[Cursor, tuple[Cursor, Stream]] | None = None

    @property
    def updates(self) -> int:
        """Updates done so far."""
        return int(self.state[0].tally.updates[0])

    @property
    def done(self) -> bool:
        """Whether training is over, or no run can go on."""
        diverged = self.state[0].tally.diverged
        return self.updates >= self.settings[0].updates or bool(jnp.all(diverged >= 0))

    @property
    def smoothed(self) -> list[float]:
        """The smoothed accuracy of each run."""
        return self.state[0].tally.smoothed.tolist()

    def advance(self, seconds: float) -> None:
        """Learn for about so long, or to the end; some minibatches at least."""
        stop = time.monotonic() + seconds
        while not self.done:
            self.state = self._block(self.state, self._hyper, self._until)
            if time.monotonic() >= stop:
                return

    def finish(self) -> list[Score]:
        """Scores of all runs, after training."""
        right = self._held_out()
        tally = jax.tree.map(np.asarray, self.state[0].tally)
        return [
            _score(self.settings[n], jax.tree.map(lambda leaf, n=n: leaf[n], tally), right[n])
            for n in range(len(self.settings))
        ]

    def _block(self, state, hyper: Hyper, until: Until) -> tuple[Learner, Cursor]:
        learner, cursors = state
        if self._drawn is None or self._drawn[0] is not cursors:
            self._drawn = (cursors, self._draw(cursors))
        cursors, stream = self._drawn[1]
        learner = learn(self.shape, self._layout, learner, hyper, stream, until)
        # A second core draws the next symbols while these are learned from.
        self._drawn = (cursors, self._draw(cursors))
        return learner, cursors

    def _draw(self, cursors: Cursor) -> tuple[Cursor, Stream]:
        return draw(self.shape.task, self.shape.steps, cursors)

    def _held_out(self) -> list[float]:
        """Accuracy on fresh sequences, by the program that learns, with a learning rate of 0.

        The memory goes on from training, where it never was empty either.
        """
        hyper = self._hyper._replace(learning_rate=jnp.zeros_like(self._hyper.learning_rate))
        learner, cursors = jax.tree.map(jnp.copy, self.state)
        tally = new_tally(len(self.shape.task.classes), learner.tally.smoothed.dtype)
        learner = learner._replace(tally=_stack([tally] * len(self.settings)))
        cursors = _stack([_cursors(one, self.shape, "held-out") for one in self.settings])
        state = (learner, cursors)
        while int(jnp.min(state[0].tally.sequences)) < HELD_OUT:
            state = self._block(state, hyper, _until(_ALL, HELD_OUT))
        return (state[0].tally.right / HELD_OUT).tolist()


def shape_of(settings: StreamSettings) -> tuple:
    """What runs must agree in to learn together."""
    free = {"seed", "learning_rate", "epsilon", "b"}
    return tuple(
        (field.name, getattr(settings, field.name))
        for field in dataclasses.fields(settings)
        if field.name not in free
    )


def make_network(settings: StreamSettings, dtype: Any) -> Classifier:
    """The network of a run before it has learned anything."""
    task = settings.make_task()
    assert settings.D is not None
    names = {"num_pools": settings.k, "viewport_size": settings.V, "base": settings.b}
    options: dict[str, Any] = {name: value for name, value in names.items() if value is not None}
    if settings.normalise == "layer":
        options["normalise"] = settings.normalise
    return make_classifier(
        settings.memory,
        len(task.alphabet),
        len(task.classes),
        pool_size=settings.D,
        hidden_size=settings.M,
        **options,
        dtype=dtype,
        key=jax.random.fold_in(jax.random.key(settings.seed), 0),
    )


def _cursors(settings: StreamSettings, shape: Shape, purpose: str) -> Cursor:
    """Fresh streams (B,) for training, or other ones to be held out."""
    key = jax.random.key(settings.seed)
    key = jax.random.fold_in(key, {"training": 1, "held-out": 2}[purpose])
    return _begin_streams(shape.task, shape.batch_size, key)


@functools.partial(jax.jit, static_argnums=(0, 1))
def _begin_streams(task: Task, count: int, key: PRNGKeyArray) -> Cursor:
    return jax.vmap(functools.partial(begin, task))(jax.random.split(key, count))


def _begin(settings: StreamSettings, shape: Shape, dtype: Any):
    """(Hyper, Learner, cursors) of a run before its first update."""
    network = make_network(settings, dtype)
    form = form_of(network, shape.truncation, len(shape.task.alphabet))
    weights = weights_of(network)
    learner = Learner(
        weights=weights,
        optimiser=optax.adam(settings.learning_rate).init(weights),
        memory=form.initial_state(network, shape.batch_size),
        tally=new_tally(len(shape.task.classes), dtype),
    )
    hyper = Hyper(
        jnp.asarray(settings.learning_rate, dtype), jnp.asarray(settings.epsilon, dtype), form
    )
    return hyper, learner, _cursors(settings, shape, "training")


def _until(updates: int, sequences: int) -> Until:
    return Until(jnp.asarray(updates, jnp.int32), jnp.asarray(sequences, jnp.int32))


def _score(settings: StreamSettings, tally: Tally, accuracy: float) -> Score:
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


def _stack(trees: Sequence[Any]) -> Any:
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)
