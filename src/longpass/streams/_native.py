"""The native learner: the same as `learn_stream`, with nothing compiled per network.

It changes the same `Learner`, with NumPy arrays for leaves, so that a run may be begun by one and
continued by the other. NumPy draws initial weights (`_native_weights.py`); functions that Numba
compiles draw symbols (`_native_streams.py`) and learn from them (`_native_py`).
"""

import functools
import importlib
import itertools
import math
from collections.abc import Sequence
from typing import TypeVar

import jax
import numpy as np
from jax.typing import DTypeLike
from threadpoolctl import ThreadpoolController

from longpass.memory import PooledMemory
from longpass.streams._flat_weights import WeightLayout
from longpass.streams._group import StreamPurpose, learners_shape, stack
from longpass.streams._native_adam import Adam
from longpass.streams._native_lstm import LSTMWeights, learn_lstm
from longpass.streams._native_pools import Filters, PoolWeights, learn_pools
from longpass.streams._native_results import Counts, Symbols
from longpass.streams._native_streams import (
    NativeSource,
    make_native_task,
    start_native_streams,
)
from longpass.streams._native_weights import draw_native_weights
from longpass.streams._network import network_shape, rateless_shape
from longpass.streams._numba import compile_native
from longpass.streams._settings import StreamSettings
from longpass.streams._stream import Cursor, Stream
from longpass.streams._tally import Tally, TrainingLimits, init_tally
from longpass.streams._update import GroupShape, Learner

# Most updates without a label that may be pending, and weights that are caught up at once.
_MOST_PENDING = 256
_TILE = 512

Views = TypeVar("Views", PoolWeights, LSTMWeights)


class NativeLearner:
    """Draws symbols and learns from them, run by run (`GroupLearner`).

    **Arguments:**

    - `settings`: of each run, complete; `choose_learner` says which there may be.
    - `shape`: of the group.
    - `dtype`: of weights and states.
    """

    def __init__(self, settings: Sequence[StreamSettings], shape: GroupShape, dtype: DTypeLike):
        self._settings = settings
        self._shape = shape
        self._dtype = np.dtype(dtype)
        self._task = make_native_task(settings[0].task, settings[0].words_seed)
        self._shapes = WeightLayout.of(rateless_shape(settings[0], dtype)).shapes
        self._threads = _blas_threads()
        self._filters = [_make_filters(one, self._dtype) for one in settings]

    def init_learners(self) -> Learner:
        """See `GroupLearner.init_learners`."""
        shapes = learners_shape(self._settings, self._shape, self._dtype)
        learner = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), shapes)
        tally = init_tally(len(self._shape.task.classes), self._dtype)
        return learner._replace(
            weights=np.stack([draw_native_weights(one, self._dtype) for one in self._settings]),
            tally=stack([tally] * len(self._settings)),
        )

    def start_streams(self, purpose: StreamPurpose) -> Cursor:
        """See `GroupLearner.start_streams`."""
        seeds = [one.seed for one in self._settings]
        return start_native_streams(self._task, self._shape.batch_size, seeds, purpose)

    def make_source(self, cursors: Cursor) -> NativeSource:
        """See `GroupLearner.make_source`."""
        return NativeSource(self._task, self._shape.steps, cursors)

    def learn(
        self, learner: Learner, stream: Stream, limits: TrainingLimits, *, frozen: bool = False
    ) -> Learner:
        """See `GroupLearner.learn`. The learner is changed in place."""
        # More threads would only wait for each other: matrices are small.
        with self._threads.limit(limits=1, user_api="blas"):
            for n, settings in enumerate(self._settings):
                one = jax.tree.map(lambda leaf, n=n: leaf[n : n + 1], learner)
                piece = jax.tree.map(lambda leaf, n=n: leaf[n], stream)
                assert settings.learning_rate is not None
                rate = 0.0 if frozen else settings.learning_rate
                self._learn_one(n, one, piece, limits, rate)
        return learner

    def _learn_one(
        self, n: int, one: Learner, stream: Stream, limits: TrainingLimits, rate: float
    ) -> None:
        """Learn with run `n`, whose arrays have a first axis of 1."""
        settings, shape = self._settings[n], self._shape
        moments = one.optimiser[0]
        weights, mu, nu = (np.asarray(of[0]) for of in (one.weights, moments.mu, moments.nu))
        tally: Tally = one.tally
        counts = Counts(
            *tally._replace(curve=tally.curve[0]),
            limit=int(limits.updates),
            counted=int(limits.counted_sequences),
        )
        piece = Symbols(
            *stream,
            clear=shape.clear_state,
            truncation=shape.truncation,
            segment=-(-shape.truncation // shape.segments),
        )
        count, filters = int(moments.count[0]), self._filters[n]
        vectors, shapes = (weights, mu, nu), self._shapes
        if filters is None:
            shapes = _transpose_gates(vectors, shapes)
        gradient = np.zeros_like(weights)
        eager = sum(map(math.prod, self._shapes[: _eager_arrays(settings)]))
        adam = Adam(
            weights=weights,
            gradient=gradient,
            mu=mu,
            nu=nu,
            roots=np.sqrt(nu),
            alpha=np.empty(_MOST_PENDING, self._dtype),
            beta=np.empty(_MOST_PENDING, self._dtype),
            totals=np.empty(_TILE, self._dtype),
            learning_rate=rate,
            epsilon=settings.epsilon,
            eager=eager,
        )
        if filters is None:
            w, g = (_make_views(LSTMWeights, of, shapes) for of in (weights, gradient))
            hidden, cell = (leaf[0] for leaf in one.memory)
            count = learn_lstm(w, g, adam, counts, piece, hidden, cell, count)
            _transpose_gates(vectors, shapes)
        else:
            w, g = (_make_views(PoolWeights, of, self._shapes) for of in (weights, gradient))
            pools = one.memory.reshape(one.memory.shape[1], -1)
            count = learn_pools(w, g, adam, counts, piece, filters, pools, count)
        moments.count[0] = count


@functools.cache
def _blas_threads() -> ThreadpoolController:
    # Numba's products are those of SciPy's BLAS, which must be loaded to be found.
    importlib.import_module("scipy.linalg.cython_blas")
    return ThreadpoolController()


def _make_filters(settings: StreamSettings, dtype: np.dtype) -> Filters | None:
    memory = network_shape(settings, dtype).memory
    if not isinstance(memory, PooledMemory):
        return None
    assert memory.gradient_pools == 1, "the kernels pass gradients through pool 1 alone"
    rates, gains = np.array(memory.filter.rates), np.array(memory.filter.gains)
    chained = memory.filter.wiring == "chain"
    return Filters((1 - rates).astype(dtype), gains.astype(dtype), chained)


def _eager_arrays(settings: StreamSettings) -> int:
    """How many of a network's first arrays write into its memory: needed in every minibatch."""
    return {"chain": 1, "parallel": 3, "lstm": 3}[settings.memory]


def _make_views(cls: type[Views], vector: np.ndarray, shapes: Sequence[tuple[int, ...]]) -> Views:
    """The arrays of a network as views of a vector; arrays that it does not have are empty."""
    ends = list(itertools.accumulate(map(math.prod, shapes)))
    begins = [0, *ends[:-1]]
    arrays = [
        vector[begin:end].reshape(shape)
        for begin, end, shape in zip(begins, ends, shapes, strict=True)
    ]
    if cls is PoolWeights and len(arrays) == len(cls._fields) - 2:
        arrays = [vector[:0].reshape(0, 0), vector[:0], *arrays]
    return cls(*arrays)


def _transpose_gates(
    vectors: Sequence[np.ndarray], shapes: Sequence[tuple[int, ...]]
) -> list[tuple[int, ...]]:
    """Transpose the first two arrays of an LSTM where they lie. **Returns:** the new shapes."""
    begin = 0
    for rows, columns in shapes[:2]:
        end = begin + rows * columns
        for vector in vectors:
            array = vector[begin:end]
            _transpose(array.reshape(rows, columns).copy(), array.reshape(columns, rows))
        begin = end
    return [shapes[0][::-1], shapes[1][::-1], *shapes[2:]]


@compile_native
def _transpose(array, transposed):
    """Transpose a matrix, in strips of as many rows as a line of a cache holds numbers."""
    rows, columns = array.shape
    for begin in range(0, rows, 16):
        end = min(begin + 16, rows)
        for j in range(columns):
            for i in range(begin, end):
                transposed[j, i] = array[i, j]
