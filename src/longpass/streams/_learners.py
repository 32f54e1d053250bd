"""What computes the updates of a group: a program that JAX compiles, or native code."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from longpass.streams._flat_weights import WeightLayout
from longpass.streams._group import StreamPurpose, init_learners, make_hyper, start_streams
from longpass.streams._network import rateless_shape
from longpass.streams._settings import LearnerName, StreamSettings
from longpass.streams._stream import Cursor, Stream
from longpass.streams._tally import TrainingLimits
from longpass.streams._update import GroupShape, Learner, draw_symbols, learn_stream


@runtime_checkable
class SymbolSource(Protocol):
    """Draws the symbols of a group block by block."""

    @property
    def cursors(self) -> Cursor:
        """Where the streams are after the last block that was taken, of shape (group, B)."""
        ...

    def take(self) -> Stream:
        """The next block, of shape (group, steps, B)."""
        ...


@runtime_checkable
class GroupLearner(Protocol):
    """Draws symbols and learns from them, minibatch by minibatch, for all runs of a group."""

    def init_learners(self) -> Learner:
        """The learners of the group before the first update."""
        ...

    def start_streams(self, purpose: StreamPurpose) -> Cursor:
        """The beginning of the streams of the group: cursors (group, B)."""
        ...

    def make_source(self, cursors: Cursor) -> SymbolSource:
        """The streams of the group from these cursors on."""
        ...

    def learn(
        self, learner: Learner, stream: Stream, limits: TrainingLimits, *, frozen: bool = False
    ) -> Learner:
        """The learner after the last minibatch.

        **Arguments:**

        - `learner`: changed or donated: it cannot be used afterwards.
        - `stream`: of shape (group, steps, B), whole minibatches.
        - `limits`: no update is made beyond them.
        - `frozen`: take a learning rate of 0, to measure only.
        """
        ...


class CompiledSource:
    """Draws the symbols of a group block by block, one block ahead of the learner.

    **Arguments:**

    - `shape`: of the group.
    - `cursors`: where the streams are, of shape (group, B).
    """

    def __init__(self, shape: GroupShape, cursors: Cursor):
        self.cursors = cursors
        """Where the streams are after the last block that was taken."""
        self._shape = shape
        self._next: tuple[Cursor, Stream] | None = None

    def take(self) -> Stream:
        """The next block, of shape (group, steps, B)."""
        self.cursors, stream = self._next or self._draw(self.cursors)
        # The next block is drawn on another core while this one is learned from.
        self._next = self._draw(self.cursors)
        return stream

    def _draw(self, cursors: Cursor) -> tuple[Cursor, Stream]:
        return draw_symbols(self._shape.task, self._shape.steps, cursors)


class CompiledLearner:
    """Learns by a program that JAX compiles for the shape of the group, on any device.

    **Arguments:**

    - `settings`: of each run, complete.
    - `shape`: of the group.
    - `dtype`: of weights and states.
    """

    def __init__(self, settings: Sequence[StreamSettings], shape: GroupShape, dtype: DTypeLike):
        self._settings, self._shape, self._dtype = settings, shape, dtype
        self._layout = WeightLayout.of(rateless_shape(settings[0], dtype))
        self._hyper = make_hyper(settings, shape, dtype)
        still = jnp.zeros_like(self._hyper.learning_rate)
        self._frozen = self._hyper._replace(learning_rate=still)

    def init_learners(self) -> Learner:
        """See `GroupLearner.init_learners`."""
        return init_learners(self._settings, self._shape, self._dtype)

    def start_streams(self, purpose: StreamPurpose) -> Cursor:
        """See `GroupLearner.start_streams`."""
        return start_streams(self._settings, self._shape, purpose)

    def make_source(self, cursors: Cursor) -> CompiledSource:
        """See `GroupLearner.make_source`."""
        return CompiledSource(self._shape, cursors)

    def learn(
        self, learner: Learner, stream: Stream, limits: TrainingLimits, *, frozen: bool = False
    ) -> Learner:
        """See `GroupLearner.learn`."""
        hyper = self._frozen if frozen else self._hyper
        return learn_stream(self._shape, self._layout, learner, hyper, stream, limits)


def make_learner(
    name: LearnerName, settings: Sequence[StreamSettings], shape: GroupShape, dtype: DTypeLike
) -> GroupLearner:
    """Make the learner of a group by its name."""
    if name == "native" and jax.default_backend() == "cpu":
        from longpass.streams._native import NativeLearner

        return NativeLearner(settings, shape, dtype)
    return CompiledLearner(settings, shape, dtype)
