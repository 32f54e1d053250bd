"""Runs: training with records, checkpoints and an eye on divergence, in a folder of its own."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from longpass import _checks
from longpass.learners._agent_settings import Hyper
from longpass.learners._config import Config
from longpass.learners._impala import Training, Update
from longpass.learners._progress import Progress, saved, to_save
from longpass.networks import ActorCritic
from longpass.results import Checkpoints, Records, folder, provenance

RECORDS = "records.jsonl"


class Diverged(ValueError):
    """A loss or a gradient is no longer a number."""


@runtime_checkable
class Trainer(Protocol):
    """What a run needs of what trains it: `Impala`, `HostImpala` or `RayImpala`."""

    @property
    def init(self) -> Callable[[PRNGKeyArray], Training]: ...

    @property
    def resumed(self) -> Callable[[Training], Training]: ...

    @property
    def run(self) -> Callable[[Training, Hyper, int], tuple[Training, Update]]: ...


class Run:
    """One training in a folder: settings.json, records.jsonl and two checkpoints.

    On the three worlds, a run that was stopped and resumed leaves what one that never stopped
    leaves, to the bit. Records after the last checkpoint are then written twice, equal but for
    their seconds: the later one counts (`curve` reads them so).

    **Arguments:** `config`; `path`: the folder; `resume`: go on with what is in it; `trainer`: what
    trains, if not the config's own on this machine.
    """

    def __init__(
        self, config: Config, path: Path, *, resume: bool = False, trainer: Trainer | None = None
    ):
        self.config, self._hyper, self.folder = config, config.hypers(), folder("out", path)
        self.checkpoints, self.records = Checkpoints(path), Records(path / RECORDS)
        if not resume and (self.checkpoints.exist() or self.records.path.exists()):
            raise ValueError(
                f"out is {str(path)!r}, which holds a run: --resume goes on with it, or choose "
                f"another folder"
            )
        if resume and not self.checkpoints.exist():
            raise ValueError(f"out is {str(path)!r}: there is no checkpoint in it to resume from")
        self.trainer = trainer or config.trainer()
        self.progress = Progress()
        self.warning: str | None = None
        self.state: Training = self.trainer.init(jax.random.key(config.seed))
        if resume:
            tree = to_save(self.state, self.progress)
            tree, self.warning = self.checkpoints.load(tree, config.about())
            state, self.progress = saved(tree, config.settings.steps)
            self.state = self.trainer.resumed(state)
        self._saved_at = self.progress.updates
        config.save(self.folder)
        if resume:
            # What comes now may be made by another commit, or on another machine.
            updates = {"updates": self.progress.updates}
            self.records.append([{"event": "resume", **updates, **provenance()}])
        else:
            self.records.append([{"event": "begin", **config.about(), **provenance()}])
            self.save()

    def train(
        self,
        steps: float | int,
        watch: Callable[[Progress], None] = lambda _: None,
        stop: Callable[[], bool] = lambda: False,
        save_seconds: float = 180.0,
    ) -> Progress:
        """Train until `steps` environment steps are made, or `stop` says so.

        `watch` sees the progress after every call of the compiled program. Checkpoints are made
        every `save_seconds` and at the end, however it comes about.
        """
        steps = _checks.real("steps", steps, above=0.0)
        last_save = time.monotonic()
        while self.progress.steps < steps and not stop():
            began = time.monotonic()
            self.state, update = self.trainer.run(self.state, self._hyper, self.config.dispatch)
            self._note(jax.tree.map(np.asarray, update), began)
            watch(self.progress)
            if time.monotonic() - last_save > save_seconds:
                self.save()
                last_save = time.monotonic()
        if self._saved_at != self.progress.updates:
            self.save()
        return self.progress

    def save(self) -> None:
        """Make a checkpoint."""
        try:
            self.checkpoints.save(to_save(self.state, self.progress), self.config.about())
        except OSError as error:
            raise OSError(
                f"the checkpoint of update {self.progress.updates} could not be written to "
                f"{self.folder} ({error}); the last good one, of update {self._saved_at}, stays"
            ) from error
        self._saved_at = self.progress.updates

    def _note(self, update: Update, began: float) -> None:
        """Count what a call made, and write it down."""
        seconds = time.monotonic() - began
        _, broken = self.progress.note(update, self.config.settings.steps, seconds)
        if broken:
            self._explain(broken)
        self.records.append([self.progress.record()])

    def _explain(self, broken: list[str]) -> None:
        progress, hyper = self.progress, self.config.hyper
        where = folder("out", self.folder / "diverged")
        Checkpoints(where).save(to_save(self.state, self.progress), self.config.about())
        self.records.append([{"event": "diverged", "updates": progress.updates, "what": broken}])
        raise Diverged(
            f"diverged between updates {progress.updates - self.config.dispatch} and "
            f"{progress.updates}: {', '.join(broken)} not finite. What it was then is in {where}; "
            f"the last good checkpoint, of update {self._saved_at}, stays in {self.folder}. What "
            f"helps: a smaller learning_rate ({hyper['learning_rate']:g} now), a larger epsilon "
            f"({hyper['epsilon']:g}), a smaller clip_norm ({hyper['clip_norm']:g})"
        )


def load_network(path: Path) -> tuple[Config, ActorCritic, str | None]:
    """(Settings, network, warning if the latest checkpoint is damaged) of the run in a folder."""
    config = Config.load(path)
    fresh = config.trainer().init(jax.random.key(config.seed))
    tree, warning = Checkpoints(path).load(to_save(fresh, Progress()), config.about())
    return config, tree["training"].weights.network, warning


def curve(path: Path) -> list[dict[str, Any]]:
    """The records of a run's progress, in order, each update once."""
    lines = [line for line in Records(Path(path) / RECORDS).read() if "event" not in line]
    latest = {line["updates"]: line for line in lines}
    return [latest[updates] for updates in sorted(latest)]
