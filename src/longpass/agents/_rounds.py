"""A round of a member of a population, as a pure function of settings and bytes.

No file is read or written, so that a round can be trained by any process on any machine.
"""

import dataclasses

import numpy as np

from longpass._archives import read_archive
from longpass.agents._impala import TrainState
from longpass.agents._loss import Weights, init_weights
from longpass.agents._progress import Progress, checkpoint_shapes, from_checkpoint
from longpass.agents._rollouts import fresh_actors
from longpass.agents._run import AgentTraining
from longpass.agents._settings import LearnerSettings, OptimiserState, RunSettings
from longpass.agents._trainers import Trainer, make_trainer
from longpass.jobs import OnProgress
from longpass.records import Diverged, InMemory, Line, from_bytes, to_bytes, train_run

_SCORES = "['scores']"  # the name of a checkpoint's scores in its file


@dataclasses.dataclass(frozen=True)
class Round:
    """What is trained in a round.

    **Arguments:**

    - `run`: the member's settings. Its hyper-parameters are used, whoever's weights it copies.
    - `number`: of the round, from 0.
    - `episodes`: train until this many more have ended; checked between compiled calls.
    - `window`: how many of the last scores are compared.
    - `state`: the member's checkpoint after its last round; None before its first.
    - `donor`: the checkpoint of the member whose weights are copied first; None: no copy.
    - `optimiser_state`: the optimiser's state after a copy: fresh, copied too, or kept.
    """

    run: RunSettings
    number: int
    episodes: int
    window: int
    state: bytes | None = None
    donor: bytes | None = None
    optimiser_state: OptimiserState = "fresh"


@dataclasses.dataclass(frozen=True)
class RoundResult:
    """What a round leaves.

    **Arguments:**

    - `state`: the member's checkpoint, as the bytes of its file.
    - `lines`: for the member's records. The last one is the round's; see `RoundTraining.results`.
    """

    state: bytes
    lines: list[Line]


class RoundTraining(AgentTraining):
    """The training of one round: `AgentTraining` that is complete after a number of episodes."""

    def __init__(
        self,
        task: Round,
        trainer: Trainer,
        state: TrainState | None = None,
        progress: Progress | None = None,
    ):
        super().__init__(task.run, trainer, state, progress)
        self._task, self._first = task, self.progress.episodes

    @property
    def fraction(self) -> float:
        """The episodes of this round so far, as a fraction of those asked for."""
        return (self.progress.episodes - self._first) / self._task.episodes

    @property
    def done(self) -> bool:
        """Whether the episodes are made."""
        return self.fraction >= 1.0

    def mean_return(self) -> float | None:
        """Mean return of the window's episodes."""
        return self.progress.mean_return(self._task.window)

    def results(self) -> list[Line]:
        """The round's line: `scored` is how many of the checkpoint's last scores are compared."""
        return [self._line(self._task.window, self.mean_return())]

    def diverged_line(self) -> Line:
        """The round's line of a member that diverged: it has no scores."""
        return self._line(0, None)

    def _line(self, scored: int, mean: float | None) -> Line:
        about = {"event": "round", "round": self._task.number}
        return about | self.progress.counts() | {"mean": mean, "scored": scored}


def train_round(task: Round, on_progress: OnProgress) -> RoundResult:
    """Train a round.

    A member whose loss is not finite ends its round where it began it, with no scores.

    **Arguments:**

    - `task`: the round.
    - `on_progress`: called after every compiled call with (fraction done, [mean return]).

    **Returns:**

    The checkpoint after the round and the lines for the records.
    """
    training, sink = _begin_round(task), InMemory()

    def report() -> None:
        mean = training.mean_return()
        on_progress(training.fraction, [] if mean is None else [mean])

    try:
        train_run(training, sink, on_progress=report)
        lines = sink.lines
    except Diverged as error:
        training = _begin_round(task)
        lines = [error.line, training.diverged_line()]
    return RoundResult(to_bytes(training.checkpoint, task.run.to_json()), lines)


def read_scores(state: bytes) -> np.ndarray:
    """The scores in a member's checkpoint, oldest first. This does not use JAX."""
    scores = read_archive(state)[_SCORES]
    return scores[~np.isnan(scores)]


def copy_weights(
    state: TrainState,
    donor: TrainState,
    settings: LearnerSettings,
    optimiser_state: OptimiserState,
) -> TrainState:
    """A training with the donor's weights.

    Copied are the network, the weights that are averaged into a slow writer and, with a lag, the
    older networks that act. The environments stay as they are. Memories are cleared, because other
    weights wrote into them, and the unfinished episodes are not counted.

    **Arguments:**

    - `state`: the training that takes the weights.
    - `donor`: the training that they are from.
    - `settings`: of both learners.
    - `optimiser_state`: the optimiser's state: fresh, copied too, or its own.

    **Returns:**

    The state with which the next round begins.
    """
    network = donor.weights.network
    optimiser = {
        "fresh": lambda: init_weights(network, settings).optimiser,
        "copied": lambda: donor.weights.optimiser,
        "own": lambda: state.weights.optimiser,
    }[optimiser_state]()
    return TrainState(
        weights=Weights(network=network, learned=donor.weights.learned, optimiser=optimiser),
        older=donor.older,
        actors=fresh_actors(state.actors.env_state, state.actors.observation, network),
        key=state.key,
        updates=state.updates,
    )


def _begin_round(task: Round) -> RoundTraining:
    """The member at the beginning of its round, with the weights that it copies."""
    run, trainer = task.run, make_trainer(task.run)
    if task.state is None:
        return RoundTraining(task, trainer)
    shapes = checkpoint_shapes(trainer.state_shapes())
    checkpoint = from_bytes(task.state, shapes, run.to_json())
    state, progress = from_checkpoint(checkpoint, run.agent.learner)
    if task.donor is not None:
        donor = from_bytes(task.donor, shapes, None)["training"]
        state = copy_weights(state, donor, run.agent.learner, task.optimiser_state)
    return RoundTraining(task, trainer, trainer.restore(state), progress)
