"""`longpass classify`."""

import dataclasses
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from longpass._settings import StreamFields
from longpass.cli._stopping import stopping

if TYPE_CHECKING:
    from longpass.streams import Group, StreamSettings

_SAVE_EVERY = 60.0  # seconds
_LOOK_EVERY = 0.5  # seconds: how long a stop may take


@dataclasses.dataclass
class Classify:
    """Train one network to classify endless streams of symbols (the paper's section 5.1).

    Gradients reach back --truncation steps; sequences are a hundred long. The chain learns all the
    same, an LSTM does not:

      longpass classify --memory chain --truncation 2 --symbols 4e6
      longpass classify --memory lstm --truncation 2 --symbols 4e6
    """

    settings: StreamFields
    out: Path | None = None
    """Folder for checkpoints (every minute and when stopped) and for the record of the run."""
    resume: bool = False
    """Go on from the checkpoint in --out, to the bit as if never stopped."""
    json: bool = False
    """Print one JSON object on standard output, and nothing else there."""

    def run(self, console: Console) -> dict[str, Any]:
        from longpass.streams import StreamSettings

        settings = StreamSettings(**dataclasses.asdict(self.settings)).resolved()
        if self.resume and self.out is None:
            raise ValueError("resume is set, but out is not: name the folder of the run")
        place = None if self.out is None else _Place(self.out, settings, self.resume)
        record = None if place is None else place.record()
        if record is None:
            record = self._train(settings, place, console)
        result = {"command": "classify", **record}
        console.print(_table(result))
        return result

    def _train(self, settings: "StreamSettings", place: "_Place | None", console: Console) -> dict:
        from longpass.records import provenance
        from longpass.streams import Group

        group = Group([settings])
        before = 0.0
        if place is not None and self.resume:
            before, warning = place.load(group)
            if warning:
                console.print(f"longpass: {warning}", style="yellow", markup=False)
        began = saved = time.monotonic()
        bar = _bar(console)
        with bar, stopping() as stop:
            total = group.settings[0].updates
            task = bar.add_task(
                "compiling", total=total, completed=group.updates, rate="", right=""
            )
            while not group.done and not stop():
                group.advance(_LOOK_EVERY)
                now = time.monotonic()
                rate = (bar.tasks[task].speed or 0.0) * settings.minibatch
                bar.update(
                    task,
                    description="learning",
                    completed=group.updates,
                    rate=f"{rate / 1e6:.2f}M symbols/s",
                    right=f"accuracy {group.smoothed[0]:.3f}",
                )
                if place is not None and now - saved >= _SAVE_EVERY:
                    place.save(group, before + now - began)
                    saved = now
            if not group.done:
                if place is not None:
                    place.save(group, before + time.monotonic() - began)
                    console.print(f"stopped; --resume goes on from {place.out}", soft_wrap=True)
                raise KeyboardInterrupt
            (score,) = group.finish()
        seconds = before + time.monotonic() - began
        record = {
            "settings": settings.to_dict(),
            **dataclasses.asdict(score),
            "seconds": round(seconds, 3),
            **provenance(),
        }
        if place is not None:
            place.finish(group, record, seconds)
        return record


class _Place:
    """The folder of a run: checkpoints while it learns, one record when it is done."""

    def __init__(self, out: Path, settings: "StreamSettings", resume: bool):
        from longpass.records import Checkpoints, Records, make_folder

        self.out = make_folder("out", out)
        self._about = settings.to_dict()
        self._checkpoints = Checkpoints(self.out)
        self._records = Records(self.out / "runs.jsonl")
        if self._checkpoints.exist() and not resume:
            raise ValueError(
                f"out is {str(self.out)!r}, which has a run in it: pass --resume to go on with it, "
                f"or choose another folder"
            )
        foreign = [item.name for item in self.out.iterdir() if item.suffix != ".part"]
        if foreign and not self._checkpoints.exist():
            raise ValueError(
                f"out is {str(self.out)!r}, which has {sorted(foreign)[0]!r} in it and no "
                f"checkpoint: it must be empty, or the folder of a run"
            )

    def record(self) -> dict[str, Any] | None:
        """The record of these settings, if the run is done."""
        for record in self._records.read():
            if record["settings"] == self._about:
                return record
        return None

    def save(self, group: "Group", seconds: float) -> None:
        import numpy as np

        self._checkpoints.save((group.state, np.float32(seconds)), self._about)

    def load(self, group: "Group") -> tuple[float, str | None]:
        """Put the checkpoint into the group: (seconds that it took so far, a warning if any)."""
        import numpy as np

        (group.state, seconds), warning = self._checkpoints.load(
            (group.state, np.float32(0)), self._about
        )
        return float(seconds), warning

    def finish(self, group: "Group", record: dict[str, Any], seconds: float) -> None:
        self.save(group, seconds)
        self._records.append([record])


def _bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}  {task.fields[right]}"),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )


def _table(result: dict[str, Any]) -> Table:
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
