"""A sweep in a folder: what is planned, what is recorded, what is left to do."""

import json
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from longpass.jobs import Engine, Job, JobProgress
from longpass.learners import StreamSettings
from longpass.results import Records, folder, write_whole
from longpass.search._comparison import Comparison
from longpass.search._folders import alone, refuse_foreign
from longpass.search._plan import Plan

Runs: TypeAlias = Sequence[StreamSettings]
"""Settings of the runs that one job trains together."""
RunRecords: TypeAlias = list[dict[str, Any]]
"""What a job returns: one record per run."""


class Sweep:
    """Runs of a plan, recorded in a folder as they finish.

    `plan.json` says what was planned, `runs.jsonl` has one record a run. The folder may be left
    at any moment and taken up again: runs that are recorded are not run again.
    """

    def __init__(self, plan: Plan | Comparison, out: Path):
        """ValueError if the plan is impossible or the folder is of something else."""
        plan.check()
        self.plan = plan
        self.out = folder("out", out)
        self.records = Records(self.out / "runs.jsonl")
        self._claim()
        self.warning = None
        if self.records.torn():
            self.warning = (
                f"the last line of {self.records.path} is broken off (a power cut?): its run is "
                f"run again, all others are kept"
            )

    def _claim(self) -> None:
        """Take a new folder, or see that an old one is of this plan."""
        path = self.out / "plan.json"
        planned = self.plan.to_dict()
        if not path.exists():
            refuse_foreign(self.out, "plan.json", "a sweep")
            text = json.dumps(planned, indent=1) + "\n"
            write_whole(path, lambda file: file.write(text.encode()))
            return
        try:
            found = json.loads(path.read_text())
        except ValueError:
            raise ValueError(f"{path} is not a plan: the file is damaged or not ours") from None
        for name, value in planned.items():
            if found.get(name) != value:
                raise ValueError(
                    f"{name} is {value!r}, but the sweep in {self.out} has "
                    f"{found.get(name)!r}: choose another folder or the same plan"
                )

    def done(self) -> set[int]:
        """Numbers of the runs that are recorded."""
        return {record["run"] for record in self.records.read()}

    def left(self) -> list[Job[Runs]]:
        """What is still to do. A group of which a part is recorded is trained whole again."""
        done = self.done()
        return [
            Job(group, tuple(self.plan.run(i) for i in group))
            for group in self.plan.groups
            if not done.issuperset(group)
        ]

    def run(self, engine: Engine[Runs, RunRecords]) -> Generator[JobProgress[Runs, RunRecords]]:
        """Run what is left, recording runs as they finish; yields the progress of jobs, whose ids
        are the numbers of their runs."""
        with alone(self.out, "sweep"):
            done = self.done()
            for progress in engine.run(self.left()):
                if progress.result is not None:
                    fresh = [
                        {"sweep": self.plan.name, "run": i, **record}
                        for i, record in zip(progress.job.id, progress.result, strict=True)
                        if i not in done
                    ]
                    self.records.append(fresh)
                    done.update(progress.job.id)
                yield progress

    def summary(self) -> list[dict[str, Any]]:
        """For each task, memory and truncation with records: how runs did."""
        cells: dict[tuple, list[dict[str, Any]]] = {}
        for record in self.records.read():
            s = record["settings"]
            cells.setdefault((s["task"], s["memory"], s["truncation"]), []).append(record)
        return [
            {
                "task": task,
                "memory": memory,
                "truncation": truncation,
                "runs": len(records),
                "best": max(record["accuracy"] or 0.0 for record in records),
                "solved": sum((record["accuracy"] or 0.0) >= 0.95 for record in records),
                "diverged": sum(record["diverged"] is not None for record in records),
            }
            for (task, memory, truncation), records in sorted(cells.items())
        ]
