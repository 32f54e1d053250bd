"""One run: train, save, stop, resume and record.

`longpass classify`, a run of a sweep, `longpass train` and a round of a population all train
through `train_run`, and leave lines of one form: `event` says what a line is.

| event | when | keys |
|---|---|---|
| `begin` | once, first | `kind`, `settings`, provenance |
| `progress` | after each call of a compiled program | `updates` and what is measured |
| `resume` | a run continues | `updates`, provenance |
| `diverged` | a loss is no longer finite | `updates`, `what` |
| `round` | a member of a population finished a round | `round`, `updates`, `mean` ... |
| `result` | training is complete | `kind`, `settings`, what was achieved, `seconds`, provenance |
"""

import contextlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

from longpass._json import JsonObject
from longpass.records._files import RECORDS, SETTINGS, read_json, write_json
from longpass.records._folders import hold_folder, make_folder, refuse_foreign
from longpass.records._provenance import provenance
from longpass.records._records import Needs, Records, check_record

if TYPE_CHECKING:
    from longpass.records._checkpoints import Checkpoints

Line = JsonObject
"""One record, as JSON can hold it."""
Tree = TypeVar("Tree")


class Diverged(ValueError):
    """A loss or a gradient is no longer finite.

    **Arguments:**

    - `message`: what happened and what would help.
    - `line`: the record of it.
    """

    def __init__(self, message: str, line: Line):
        super().__init__(message)
        self.line = line


@runtime_checkable
class Training(Protocol):
    """What `train_run` trains: a group of stream classifiers, or an agent."""

    @property
    def updates(self) -> int:
        """Updates of the weights so far."""
        ...

    @property
    def done(self) -> bool:
        """Whether training is complete."""
        ...

    @property
    def checkpoint(self) -> object:
        """Everything that changes, as a pytree of arrays: a run continues from it exactly."""
        ...

    def advance(self) -> Sequence[Line]:
        """Train for a short while; the progress lines to record. `Diverged` if that fails."""
        ...

    def results(self) -> Sequence[Line]:
        """What was achieved: one line per run that was trained."""
        ...


@runtime_checkable
class Sink(Protocol):
    """Where a run's lines and checkpoints go."""

    def append(self, lines: Sequence[Line]) -> None: ...

    def save(self, training: Training) -> None: ...


class InMemory:
    """A sink that keeps lines and writes no file: for workers, whose driver writes.

    >>> sink = InMemory()
    >>> sink.append([{"event": "progress", "updates": 10}])
    >>> len(sink.lines)
    1
    """

    def __init__(self) -> None:
        self.lines: list[Line] = []

    def append(self, lines: Sequence[Line]) -> None:
        self.lines += lines

    def save(self, training: Training) -> None:
        """Nothing is saved: a worker that dies starts its job again."""


def train_run(
    training: Training,
    sink: Sink,
    *,
    on_progress: Callable[[], None] = lambda: None,
    stop: Callable[[], bool] = lambda: False,
    save_seconds: float = 60.0,
) -> bool:
    """Train until `training` is done or `stop` returns true.

    **Arguments:**

    - `training`: what is trained.
    - `sink`: where progress lines, results and checkpoints go.
    - `on_progress`: called after every `advance`.
    - `stop`: asked after every `advance`. A checkpoint is saved before returning.
    - `save_seconds`: time between checkpoints.

    **Returns:** whether training is complete. If so, its results have been appended.
    """
    saved_at, saved_updates = time.monotonic(), training.updates
    while not training.done and not stop():
        sink.append(training.advance())
        on_progress()
        if time.monotonic() - saved_at >= save_seconds:
            sink.save(training)
            saved_at, saved_updates = time.monotonic(), training.updates
    if training.updates != saved_updates:
        sink.save(training)
    if training.done:
        sink.append(training.results())
    return training.done


class RunFolder:
    """The folder of one run: `settings.json`, `records.jsonl`, two checkpoints and a lock.

    It is a context manager and a `Sink`: while it is entered, no other process can enter it.

    **Arguments:**

    - `path`: the folder; it is made if it is not there.
    - `kind`: what was trained, "stream" or "agent".
    - `settings`: everything that the run's results depend on, as JSON can hold it.
    - `resume`: continue the run in the folder, if there is one. Without it, a folder that holds a
      run is refused.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     with RunFolder(Path(parent) / "run", "stream", {"seed": 0}) as folder:
    ...         folder.begun
    False
    """

    def __init__(self, path: Path, kind: str, settings: JsonObject, *, resume: bool = False):
        self.path, self.kind, self.settings = Path(path), kind, settings
        self.resume = resume
        self.checkpoints = _checkpoints_in(self.path)
        self.records = Records(self.path / RECORDS)
        self.warning: str | None = None
        self._held = contextlib.ExitStack()
        self._saved_updates = 0

    def __enter__(self) -> "RunFolder":
        make_folder("out", self.path)
        refuse_foreign(self.path, SETTINGS, "a run")
        self._held.enter_context(hold_folder(self.path))
        try:
            self._claim()
        except BaseException:
            self._held.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    @property
    def begun(self) -> bool:
        """Whether there is a checkpoint to continue from."""
        return self.checkpoints.exist()

    @property
    def saved_updates(self) -> int:
        """The updates of the latest checkpoint."""
        return self._saved_updates

    def result(self, needs: Needs) -> Line | None:
        """The latest result in the folder; None if training is not complete.

        **Arguments:**

        - `needs`: what the caller needs of it, see `Records.read_events`.
        """
        lines = self.records.read_events("result", needs)
        return lines[-1] if lines else None

    def load(self, like: Tree) -> Tree:
        """The latest checkpoint.

        **Arguments:**

        - `like`: a pytree of the same structure, shapes and dtypes; `jax.eval_shape` gives one.

        **Returns:** the checkpoint. `self.warning` says if it is not the latest one.
        """
        tree, self.warning = self.checkpoints.load(like, self.settings)
        return tree

    def begin(self, training: Training) -> None:
        """Record that the run begins, or continues, with `training` as it is now."""
        if not self.begun:
            self.save(training)
        if self.records.read_events("begin", {}):
            self.append([{"event": "resume", "updates": training.updates, **provenance()}])
        else:
            # The line that makes it a run comes after the checkpoint that it continues from.
            about = {"kind": self.kind, "settings": self.settings}
            self.append([{"event": "begin", **about, **provenance()}])
        self._saved_updates = training.updates

    def append(self, lines: Sequence[Line]) -> None:
        """Append lines to the records. Results get the kind, the settings and the provenance."""
        if lines:
            self.records.append([self._complete(line) for line in lines])

    def save(self, training: Training) -> None:
        """Write a checkpoint; the last good one stays if that fails."""
        try:
            self.checkpoints.save(training.checkpoint, self.settings)
        except OSError as error:
            raise OSError(
                f"the checkpoint of update {training.updates} could not be written to "
                f"{self.path} ({error}); the last good one, of update {self._saved_updates}, stays"
            ) from error
        self._saved_updates = training.updates

    def save_diverged(self, training: Training) -> Path:
        """Keep a state that diverged in a folder of its own, apart from the good checkpoints."""
        path = make_folder("out", self.path / "diverged")
        _checkpoints_in(path).save(training.checkpoint, self.settings)
        return path

    def _complete(self, line: Line) -> Line:
        if line.get("event") != "result":
            return line
        return line | {"kind": self.kind, "settings": self.settings} | provenance()

    def _claim(self) -> None:
        """Take a new folder, or check that an old one is of this run."""
        path = self.path / SETTINGS
        if path.exists():
            if not self.resume and (self.begun or self.records.path.exists()):
                raise ValueError(
                    f"out is {str(self.path)!r}, which holds a run: pass --resume to continue it, "
                    f"or choose another folder"
                )
            found = read_json(path, "the settings of a run")
            check_record(str(path), found, {"kind": str})
            check_same_settings(self.path, found, {"kind": self.kind, **self.settings})
            if self.records.read_events("progress", {}) and not self.begun:
                raise ValueError(
                    f"out is {str(self.path)!r}, whose checkpoints are gone: the run cannot be "
                    f"continued; choose another folder"
                )
        else:
            write_json(path, {"kind": self.kind, **self.settings})


def _checkpoints_in(path: Path) -> "Checkpoints":
    # JAX is loaded only where there are checkpoints: drivers of workers have none.
    from longpass.records._checkpoints import Checkpoints

    return Checkpoints(path)


def check_same_settings(path: Path, found: Line, given: Line, ignore: Sequence[str] = ()) -> None:
    """ValueError that names the first setting in which what is in a folder differs from `given`.

    **Arguments:**

    - `path`: of the folder.
    - `found`: the settings in it.
    - `given`: those that were asked for.
    - `ignore`: names of settings that may differ.
    """
    ours, theirs = _flatten(given), _flatten(found)
    for name in sorted({*ours, *theirs} - set(ignore)):
        if ours.get(name) != theirs.get(name):
            raise ValueError(
                f"{name} is {ours.get(name)!r}, but {path} was begun with {theirs.get(name)!r}: "
                f"use the settings that it was begun with, or choose another folder"
            )


def _flatten(settings: Line) -> Line:
    """Nested settings by their own names, of which no two may be equal."""
    flat: Line = {}
    for name, value in settings.items():
        inner = _flatten(value) if isinstance(value, dict) else {name: value}
        if name == "memory_options":
            # Names that a user chose, which may be those of settings. None are as if not there.
            inner = {name: value} if value else {}
        if clash := flat.keys() & inner.keys():
            raise ValueError(f"two settings are called {sorted(clash)[0]}")
        flat |= inner
    return flat
