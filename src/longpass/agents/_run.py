"""One run of an agent: its training, and the folder in which it records and saves."""

import time
from collections.abc import Callable
from pathlib import Path

import jax

from longpass import _checks
from longpass.agents._hyper import hyper_arrays
from longpass.agents._impala import TrainState
from longpass.agents._members import MEMBERS, POPULATION
from longpass.agents._progress import (
    Checkpoint,
    Progress,
    checkpoint_shapes,
    from_checkpoint,
    to_checkpoint,
    to_numpy,
)
from longpass.agents._settings import KIND, RunSettings, load_settings
from longpass.agents._trainers import Trainer, make_trainer
from longpass.networks import ActorCritic
from longpass.records import Checkpoints, Diverged, Line, RunFolder, train_run


class AgentTraining:
    """The training of one agent, for `longpass.records.train_run`.

    **Arguments:**

    - `run`: the settings.
    - `trainer`: what trains.
    - `state`, `progress`: where training continues. By default it starts.
    - `steps`: environment steps after which training is complete.
    - `enough`: asked after every compiled call whether training is complete before that.
    """

    def __init__(
        self,
        run: RunSettings,
        trainer: Trainer,
        state: TrainState | None = None,
        progress: Progress | None = None,
        *,
        steps: float | int = float("inf"),
        enough: Callable[[Progress], bool] = lambda _: False,
    ):
        self.run, self.progress = run, progress or Progress()
        self.state = trainer.start(jax.random.key(run.seed)) if state is None else state
        self._trainer, self._hyper = trainer, hyper_arrays(run.agent.hyper)
        self._steps, self._enough = steps, enough
        # Not more updates per call than the whole training has.
        learner = run.agent.learner
        most = learner.updates_per_call
        self._updates_per_call = int(max(1, min(most, -(-steps // learner.steps))))

    @property
    def updates(self) -> int:
        """Updates so far."""
        return self.progress.updates

    @property
    def done(self) -> bool:
        """Whether the steps are made, or enough has been learned."""
        return self.progress.steps >= self._steps or self._enough(self.progress)

    @property
    def checkpoint(self) -> Checkpoint:
        """Everything that changes."""
        return to_checkpoint(self.state, self.progress)

    def advance(self) -> list[Line]:
        """Make one compiled call; its progress line. `Diverged` if a metric is not finite."""
        began = time.monotonic()
        self.state, result = self._trainer.train_steps(
            self.state, self._hyper, self._updates_per_call
        )
        result = to_numpy(result)
        seconds = time.monotonic() - began
        broken = self.progress.add_result(result, self.run.agent.learner, seconds)
        if broken:
            self._raise_diverged(broken)
        return [self.progress.line()]

    def results(self) -> list[Line]:
        """The result line."""
        return [{"event": "result", **self.progress.summary()}]

    def _raise_diverged(self, broken: list[str]) -> None:
        updates, hyper = self.updates, self.run.agent.hyper
        raise Diverged(
            f"diverged between updates {updates - self._updates_per_call} and {updates}: "
            f"{', '.join(broken)} not finite. What helps: a smaller learning_rate "
            f"({hyper.learning_rate:g} now), a larger epsilon ({hyper.epsilon:g}), a smaller "
            f"clip_norm ({hyper.clip_norm:g})",
            {"event": "diverged", "updates": updates, "what": broken},
        )


def train_agent(
    run: RunSettings,
    out: Path,
    steps: float | int,
    *,
    resume: bool = False,
    trainer: Trainer | None = None,
    enough: Callable[[Progress], bool] = lambda _: False,
    on_begin: Callable[[RunFolder], None] = lambda _: None,
    on_progress: Callable[[Progress], None] = lambda _: None,
    stop: Callable[[], bool] = lambda: False,
    save_seconds: float = 180.0,
) -> Progress:
    """Train one agent in a folder: `settings.json`, `records.jsonl` and two checkpoints.

    On our worlds, a run that was stopped and resumed leaves what one that was never stopped
    leaves, to the bit. Records after the last checkpoint are then written twice; `learning_curve`
    reads them.

    **Arguments:**

    - `run`: the settings.
    - `out`: the folder; it is made if it is not there.
    - `steps`: environment steps, over all copies.
    - `resume`: continue the run in the folder, if there is one.
    - `trainer`: what trains; by default `make_trainer(run)`.
    - `enough`: asked after every compiled call whether training is complete before that.
    - `on_begin`: called with the folder once the run has been made or loaded.
    - `on_progress`: called with the progress after every compiled call, and before the first one if
      the run continues.
    - `stop`: asked after every compiled call whether to stop.
    - `save_seconds`: time between checkpoints. One is also saved at the end.

    **Returns:** how far the run is. `Diverged` if a loss or gradient is not finite.
    """
    _checks.real("steps", steps, above=0.0)
    _refuse_member(Path(out))
    # An environment or a network that cannot be made must not leave a folder behind.
    trainer = trainer or make_trainer(run)
    shapes = trainer.state_shapes()
    with RunFolder(out, KIND, run.to_json(), resume=resume) as folder:
        if folder.begun:
            checkpoint = folder.load(checkpoint_shapes(shapes))
            state, progress = from_checkpoint(checkpoint, run.agent.learner)
            state = trainer.restore(state)
            training = AgentTraining(run, trainer, state, progress, steps=steps, enough=enough)
        else:
            training = AgentTraining(run, trainer, steps=steps, enough=enough)
        on_begin(folder)
        result = folder.result({"updates": int})
        if training.done and result is not None and result["updates"] == training.updates:
            return training.progress
        folder.begin(training)
        if training.updates:
            on_progress(training.progress)
        try:
            train_run(
                training,
                folder,
                on_progress=lambda: on_progress(training.progress),
                stop=stop,
                save_seconds=save_seconds,
            )
        except Diverged as error:
            folder.append([error.line])
            path = folder.save_diverged(training)
            raise Diverged(
                f"{error}. The state at that point is in {path}; the last good checkpoint, of "
                f"update {folder.saved_updates}, stays in {folder.path}",
                error.line,
            ) from None
    return training.progress


def load_network(folder: Path, name: str = "RUN") -> tuple[RunSettings, ActorCritic, str | None]:
    """The trained network of the run in a folder. Nothing is compiled or played.

    **Arguments:**

    - `folder`: of a run, or of a member of a population.
    - `name`: what the user calls the folder, for messages.

    **Returns:** (settings, network, a warning if the latest checkpoint is damaged).
    """
    run, state, warning = load_state(folder, name)
    return run, state.weights.network, warning


def load_state(folder: Path, name: str = "RUN") -> tuple[RunSettings, TrainState, str | None]:
    """The state of the training of the run in a folder. Nothing is compiled or played.

    **Arguments:**

    - `folder`, `name`: as for `load_network`.

    **Returns:** (settings, state, a warning if the latest checkpoint is damaged). Records may go
    further than the state's updates.
    """
    run = load_settings(folder, name)
    shapes = checkpoint_shapes(make_trainer(run).state_shapes())
    checkpoint, warning = find_checkpoints(Path(folder)).load(shapes, run.to_json())
    return run, checkpoint["training"], warning


def find_checkpoints(folder: Path) -> Checkpoints:
    """The checkpoints of a run, or of a member of a population: those of its last two rounds."""
    rounds = find_rounds(folder)
    if not rounds:
        return Checkpoints(folder)
    return Checkpoints(folder, rounds[-1].name, rounds[-2].name if len(rounds) > 1 else None)


def find_rounds(folder: Path) -> list[Path]:
    """The checkpoints of a member's rounds, in order."""
    found = folder.glob("round-*.npz")
    rounds = [path for path in found if path.stem.removeprefix("round-").isdecimal()]
    return sorted(rounds, key=round_number)


def round_number(path: Path) -> int:
    """The number of the round whose file this is."""
    return int(path.stem.removeprefix("round-"))


def _refuse_member(path: Path) -> None:
    """ValueError if a folder belongs to a member of a population."""
    if path.parent.name == MEMBERS and (path.parent.parent / POPULATION).exists():
        raise ValueError(
            f"out is {str(path)!r}, a member of a population: it must be a folder of its own; "
            f"`longpass pbt --resume` continues the population"
        )
