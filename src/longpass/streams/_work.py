"""What a worker of a sweep does.

The driver imports this file too, so JAX is loaded only when the function is called.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from longpass.records import InMemory, Line, provenance, train_run
from longpass.streams._settings import LearnerName, StreamSettings

if TYPE_CHECKING:
    from longpass.streams._training import StreamTraining

OnProgress = Callable[[float, Sequence[float]], None]
"""Called with (fraction done, smoothed accuracy of each run)."""


def train_group(
    settings: Sequence[StreamSettings],
    on_progress: OnProgress,
    *,
    learner: LearnerName | None = None,
) -> list[Line]:
    """Train runs of one shape together to the end.

    **Arguments:**

    - `settings`: of each run.
    - `on_progress`: called about twice a second.
    - `learner`: what computes the updates, as for `StreamTraining`.

    **Returns:** one result line per run.
    """
    return _train(settings, on_progress, learner)[1]


def train_and_measure(settings: Sequence[StreamSettings], on_progress: OnProgress) -> list[Line]:
    """Train runs of one shape by JAX, and measure what the benchmark asks for besides accuracy.

    **Arguments:**

    - `settings`: of each run, with a `span`.
    - `on_progress`: called about twice a second.

    **Returns:** one result line per run, with `longer_accuracy` (on sequences of twice the length),
    `mean_lag` (of the Jacobian, in steps) and `parameters`.
    """
    from longpass.streams._measures import measure_accuracy, measure_mean_lag, round_all

    training, lines = _train(settings, on_progress, "jax")
    weights, span = training.learner.weights, training.settings[0].span
    assert span is not None
    longer = round_all(measure_accuracy(training.settings, weights, 2 * span))
    lags = round_all(measure_mean_lag(training.settings, weights))
    return [
        line | {"longer_accuracy": accuracy, "mean_lag": lag, "parameters": weights.shape[-1]}
        for line, accuracy, lag in zip(lines, longer, lags, strict=True)
    ]


def _train(
    settings: Sequence[StreamSettings], on_progress: OnProgress, learner: LearnerName | None
) -> "tuple[StreamTraining, list[Line]]":
    from longpass.streams._training import StreamTraining

    training = StreamTraining(settings, learner=learner)
    sink = InMemory()

    def report() -> None:
        on_progress(training.updates / training.total_updates, training.smoothed_accuracies)

    train_run(training, sink, on_progress=report)
    return training, [line | provenance() for line in sink.lines]
