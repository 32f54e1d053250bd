"""A sweep in a folder: what is planned, what is recorded, what remains."""

import dataclasses
import functools
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeAlias, runtime_checkable

from longpass._fields import add_defaults, to_json
from longpass.jobs import Engine, Job, JobProgress
from longpass.records import (
    NUMBER_OR_NONE,
    RECORDS,
    Line,
    Needs,
    Records,
    check_record,
    check_same_settings,
    hold_folder,
    make_folder,
    read_json,
    refuse_foreign,
    write_json,
)
from longpass.streams._settings import LearnerName, StreamSettings, choose_learner

PLAN = "plan.json"
"""The file of a sweep that holds its plan."""
SOLVED = 0.95
"""The accuracy from which on a task counts as solved."""

# What is read of a result.
_NEEDS: Needs = {
    "run": int,
    "settings.task": str,
    "settings.memory": str,
    "settings.truncation": int,
    "accuracy": NUMBER_OR_NONE,
    "diverged": (int, type(None)),
}

Group: TypeAlias = Sequence[StreamSettings]
"""The payload of a job: settings of runs that are trained together."""


@runtime_checkable
class Plan(Protocol):
    """Which runs a sweep has: a settings dataclass such as `SweepPlan` or `FixedPlan`."""

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]

    @property
    def name(self) -> str:
        """Name of the sweep."""
        ...

    def check(self) -> None:
        """ValueError or TypeError if a setting is not allowed."""
        ...

    def settings(self, i: int) -> StreamSettings:
        """The settings of run `i`."""
        ...

    def groups(self, learner: LearnerName | None = None) -> list[tuple[int, ...]]:
        """The numbers of all runs, in groups that this learner trains together."""
        ...

    def __len__(self) -> int: ...


class Sweep:
    """The runs of a plan, recorded in a folder as they finish.

    The folder has `plan.json`, `records.jsonl` with one result line per run, and a lock. A sweep
    may be stopped at any moment: the next one in the folder runs only what is not recorded. It may
    have more runs per cell.

    **Arguments:**

    - `plan`: which runs there are; a settings dataclass.
    - `out`: the folder; it is made if it is not there.
    - `learner`: what computes the updates. None: native code where there is any, else JAX.

    >>> import tempfile
    >>> from longpass.streams import SweepPlan
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sweep = Sweep(SweepPlan(runs=1, truncations=(2,)), Path(folder) / "sweep")
    ...     len(sweep.plan), len(sweep.results())
    (9, 0)
    """

    def __init__(self, plan: Plan, out: Path, learner: LearnerName | None = None):
        """ValueError if the plan is not possible, or if the folder is in use or something else."""
        plan.check()
        for i in range(len(plan) if learner == "native" else 0):
            choose_learner(plan.settings(i), learner)
        self.plan = plan
        self.learner: LearnerName | None = learner
        self.out = make_folder("out", out)
        self.records = Records(self.out / RECORDS)
        refuse_foreign(self.out, PLAN, "a sweep")
        with hold_folder(self.out):
            self._claim()
        self.warning = self.records.torn_warning()

    def results(self) -> list[Line]:
        """The result lines, one per finished run."""
        return self.records.read_events("result", _NEEDS)

    def done(self) -> set[int]:
        """The numbers of the runs that are recorded."""
        return {line["run"] for line in self.records.read_events("result", {"run": int})}

    def remaining(self) -> list[Job[Group]]:
        """The jobs that are not done. A job's id is the numbers of its runs.

        A group that is recorded in part is trained again as a whole.
        """
        done = self.done()
        return [
            Job(group, tuple(self.plan.settings(i) for i in group))
            for group in self._groups
            if not done.issuperset(group)
        ]

    def run(
        self, engine: Engine[Group, list[Line]]
    ) -> Generator[JobProgress[Group, list[Line]], None, None]:
        """Run what remains and record each run when it is finished.

        **Arguments:**

        - `engine`: runs `train_group` with the learner of the sweep.

        **Returns:** the progress of jobs, as they run. ValueError if another process runs a sweep
        in the folder.
        """
        with hold_folder(self.out):
            write_json(self.out / PLAN, to_json(self.plan))
            done = self.done()
            for progress in engine.run(self.remaining()):
                if progress.result is not None:
                    runs = progress.job.id
                    self.records.append(
                        line | {"sweep": self.plan.name, "run": i}
                        for i, line in zip(runs, progress.result, strict=True)
                        if i not in done
                    )
                    done.update(runs)
                yield progress

    def summary(self) -> list[Line]:
        """How runs did, for each task, memory and truncation that has results."""
        cells: dict[tuple[str, str, int], list[Line]] = {}
        for line in self.results():
            s = line["settings"]
            cells.setdefault((s["task"], s["memory"], s["truncation"]), []).append(line)
        return [
            {
                "task": task,
                "memory": memory,
                "truncation": truncation,
                "runs": len(lines),
                "best": max(line["accuracy"] or 0.0 for line in lines),
                "solved": sum((line["accuracy"] or 0.0) >= SOLVED for line in lines),
                "diverged": sum(line["diverged"] is not None for line in lines),
            }
            for (task, memory, truncation), lines in sorted(cells.items())
        ]

    @functools.cached_property
    def _groups(self) -> list[tuple[int, ...]]:
        return self.plan.groups(self.learner)

    def _claim(self) -> None:
        """Take a new folder, or check that an old one is of this plan."""
        path, plan = self.out / PLAN, to_json(self.plan)
        if path.exists():
            old = add_defaults(type(self.plan), read_json(path, "a plan"))
            check_same_settings(self.out, old, plan, ignore=("runs",))
            # More runs per cell leave those of the old plan as they are.
            if "runs" in plan:
                check_record(str(path), old, {"runs": int})
            if plan.get("runs", 0) < old.get("runs", 0):
                raise ValueError(
                    f"runs is {plan['runs']}: it must be at least {old['runs']}, as many as the "
                    f"sweep in {self.out} has"
                )
        else:
            write_json(path, plan)
