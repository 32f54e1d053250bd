"""`longpass classify`."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from longpass import _checks
from longpass._json import JsonObject
from longpass.cli._factory import check_factory
from longpass.cli._live import print_stopped
from longpass.cli._minutes import MinuteLines
from longpass.cli._stopping import StopOnSignal
from longpass.records import NUMBER, NUMBER_OR_NONE
from longpass.streams import LearnerName, StreamSettings, choose_learner

if TYPE_CHECKING:
    from longpass.records import Line, Needs, Sink
    from longpass.streams import StreamTraining

# What is shown of a result.
_NEEDS: "Needs" = {
    "settings.task": str,
    "settings.memory": str,
    "settings.truncation": int,
    "settings.batch_size": int,
    "symbols": int,
    "seconds": NUMBER,
    "accuracy": NUMBER_OR_NONE,
    "smoothed_accuracy": NUMBER_OR_NONE,
    "criterion": (int, type(None)),
    "diverged": (int, type(None)),
}


@dataclasses.dataclass
class Classify:
    """Train one network to classify endless streams of symbols (the paper's section 5.1).

    Gradients reach back --truncation steps; sequences have a hundred. The chain learns
    nevertheless, an LSTM does not:

      longpass classify --memory chain --truncation 2 --symbols 4e6
      longpass classify --memory lstm --truncation 2 --symbols 4e6
    """

    settings: StreamSettings
    learner: LearnerName | None = None
    """What computes the updates: native code for CPUs (Numba), or JAX. By default native code where
    there is any; both compute the same, up to rounding."""
    out: Path | None = None
    """Folder of the run: checkpoints (also when it is stopped) and the record."""
    resume: bool = False
    """Continue the run in --out exactly where it was stopped; begin if there is none."""
    save_minutes: float = 1.0
    """Minutes between checkpoints."""
    json: bool = False
    """Print one JSON object on standard output, and nothing else there."""

    def run(self, console: Console) -> JsonObject:
        """Train the network, or continue; what `--json` prints."""
        _checks.real("save_minutes", self.save_minutes, above=0.0)
        settings = self.settings.resolved()
        learner = choose_learner(settings, self.learner)
        if self.resume and self.out is None:
            raise ValueError("resume is set, but out is not: it must name the folder of the run")
        check_factory(console, settings.memory, settings.memory_options)
        if self.out is None:
            line = _train_in_memory(settings, learner, console)
        else:
            seconds = 60.0 * self.save_minutes
            line = _train_in_folder(settings, learner, self.out, self.resume, console, seconds)
        result = {"command": "classify", **line}
        del result["event"]
        console.print(_table(result))
        return result


def _train_in_memory(settings: StreamSettings, learner: LearnerName, console: Console) -> "Line":
    from longpass.records import InMemory, provenance
    from longpass.streams import StreamTraining

    sink = InMemory()
    if not _train(StreamTraining([settings], learner=learner), sink, console):
        console.print("stopped: nothing is saved without --out")
        raise KeyboardInterrupt
    (line,) = sink.lines
    return line | provenance()


def _train_in_folder(
    settings: StreamSettings,
    learner: LearnerName,
    out: Path,
    resume: bool,
    console: Console,
    save_seconds: float,
) -> "Line":
    from longpass._fields import to_json
    from longpass.records import RunFolder
    from longpass.streams import KIND, StreamTraining, checkpoint_shape

    with RunFolder(out, KIND, to_json(settings), resume=resume) as folder:
        line = folder.result(_NEEDS)
        if line is not None:
            return line
        checkpoint = folder.load(checkpoint_shape([settings])) if folder.begun else None
        if folder.warning:
            console.print(f"longpass: {folder.warning}", style="yellow", markup=False)
        training = StreamTraining([settings], checkpoint, learner=learner)
        folder.begin(training)
        if not _train(training, folder, console, save_seconds):
            print_stopped(console, "--resume")
            raise KeyboardInterrupt
        line = folder.result(_NEEDS)
        assert line is not None
        return line


def _train(
    training: "StreamTraining", sink: "Sink", console: Console, save_seconds: float = 60.0
) -> bool:
    """Train with a progress bar until training is complete or the user stops it."""
    from longpass.records import train_run

    bar = _bar(console)
    lines = MinuteLines(console)
    settings = training.settings[0]
    with bar, StopOnSignal() as stop:
        task = bar.add_task(
            "compiling",
            total=training.total_updates,
            completed=training.updates,
            rate="",
            accuracy="",
        )

        def show_progress() -> None:
            rate = (bar.tasks[task].speed or 0.0) * settings.minibatch
            bar.update(
                task,
                description="learning",
                completed=training.updates,
                rate=f"{rate / 1e6:.2f}M symbols/s",
                accuracy=f"accuracy {training.smoothed_accuracies[0]:.3f}",
            )
            lines.show(
                lambda: (
                    f"{training.updates:,} of {training.total_updates:,} updates, "
                    f"accuracy {training.smoothed_accuracies[0]:.3f}"
                )
            )

        return train_run(
            training, sink, on_progress=show_progress, stop=stop, save_seconds=save_seconds
        )


def _bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}  {task.fields[accuracy]}"),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )


def _table(result: JsonObject) -> Table:
    settings = result["settings"]
    table = Table(
        "task", "memory", "truncation", "batch", "held-out", "smoothed", "until 2,000 right"
    )
    if result["diverged"] is not None:
        scores = [f"diverged at update {result['diverged']}", "", ""]
    else:
        met = result["criterion"]
        scores = [
            f"{result['accuracy']:.4f}",
            f"{result['smoothed_accuracy']:.4f}",
            "never" if met is None else f"{met:,} sequences",
        ]
    table.add_row(
        settings["task"],
        settings["memory"],
        str(settings["truncation"]),
        str(settings["batch_size"]),
        *scores,
    )
    table.caption = f"{result['symbols']:,} symbols in {result['seconds']:.1f} s"
    return table
