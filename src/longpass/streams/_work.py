"""What a worker of a sweep does.

The driver imports this file too, so JAX is loaded only when the function is called.
"""

from collections.abc import Callable, Sequence

from longpass.records import InMemory, Line, provenance, train_run
from longpass.streams._settings import LearnerName, StreamSettings

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
    from longpass.streams._training import StreamTraining

    training = StreamTraining(settings, learner=learner)
    sink = InMemory()

    def report() -> None:
        on_progress(training.updates / training.total_updates, training.smoothed_accuracies)

    train_run(training, sink, on_progress=report)
    return [line | provenance() for line in sink.lines]
