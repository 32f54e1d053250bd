"""A study: many single agents, recorded in one file, one line per agent.

A study is given as a list of runs. Their settings are their names: a study that is called again
trains only what is not recorded, and may have other runs than before.
"""

import dataclasses
import hashlib
import json
import shutil
from collections.abc import Generator, Sequence
from pathlib import Path

from longpass._fields import check_settings
from longpass._json import JsonObject
from longpass.agents._settings import RunSettings
from longpass.jobs import Engine, Job, JobProgress
from longpass.records import (
    NUMBER,
    NUMBER_OR_NONE,
    RECORDS,
    Line,
    Needs,
    Records,
    hold_folder,
    make_folder,
    refuse_foreign,
    write_json,
)

STUDY = "study.json"
"""The file of a study that says which one it is."""
UNFINISHED = "unfinished"
"""The folder with the checkpoints of agents that are not finished."""
SOLVED = 0.95
"""A world counts as solved from this fraction of its highest possible return on."""

RESULT_NEEDS: Needs = {
    "settings": dict,
    "seconds": NUMBER,
    "return_500": NUMBER_OR_NONE,
    "return_max": NUMBER_OR_NONE,
    "solved": bool,
    "diverged": (int, type(None)),
    "curve.steps": list,
    "curve.optimiser_steps": list,
    "curve.episodes": list,
    "curve.return_100": list,
}
"""What figures and claims read of a result."""


@dataclasses.dataclass(frozen=True)
class StudyRun:
    """One agent of a study."""

    run: RunSettings
    """Its settings."""
    steps: int
    """Environment steps after which it ends."""
    enough_steps: int
    """From here on it ends as soon as it has solved its world."""

    def __post_init__(self) -> None:
        check_settings(self.run)

    @property
    def name(self) -> str:
        """A short name for its settings and steps."""
        text = json.dumps(self.to_json(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @classmethod
    def from_json(cls, line: JsonObject) -> "StudyRun":
        """The agent of a record. ValueError if its settings are not of this version."""
        budget = line["budget"]
        return cls(RunSettings.from_json(line["settings"]), budget["steps"], budget["enough_steps"])

    def to_json(self) -> JsonObject:
        """What its record says of it."""
        return {
            "settings": self.run.to_json(),
            "budget": {"steps": self.steps, "enough_steps": self.enough_steps},
        }


@dataclasses.dataclass(frozen=True)
class StudyJob:
    """An agent of a study, and the folder in which it trains."""

    task: StudyRun
    folder: Path


class Study:
    """The agents of a study, recorded in a folder as they finish.

    The folder has `study.json`, `records.jsonl` with one result line per agent, a lock, and the
    checkpoints of agents that are not finished. It may be stopped at any moment: nothing is trained
    twice.

    **Arguments:**

    - `name`: of the study.
    - `runs`: its agents.
    - `out`: the folder; it is made if it is not there.

    >>> import tempfile
    >>> from longpass.agents import StudyPlan
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     study = Study("onset", StudyPlan("onset", runs=1).make_runs(), Path(folder) / "onset")
    ...     len(study.runs), len(study.results())
    (20, 0)
    """

    def __init__(self, name: str, runs: Sequence[StudyRun], out: Path):
        """ValueError if the folder is in use or holds something else."""
        self.name, self.runs = name, list(runs)
        self.out = make_folder("out", out)
        self.records = Records(self.out / RECORDS)
        refuse_foreign(self.out, STUDY, "a study")
        with hold_folder(self.out):
            write_json(self.out / STUDY, {"name": name})
        self.warning = self.records.torn_warning()

    def results(self) -> list[Line]:
        """The result lines, one per finished agent.

        A line's name is the one that its agent has with the settings of today: there may be more of
        them now than when it was recorded.
        """
        needs = {**RESULT_NEEDS, "budget.steps": int, "budget.enough_steps": int}
        lines = self.records.read_events("result", needs)
        try:
            return [line | {"name": StudyRun.from_json(line).name} for line in lines]
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{self.records.path} has a result of other settings: {error}"
            ) from None

    def done(self) -> set[str]:
        """The names of the agents that are recorded."""
        return {line["name"] for line in self.results()}

    def remaining(self) -> list[Job[StudyJob]]:
        """The jobs that are not done, in the order of the runs. A job's id is its run's name."""
        done = self.done()
        return [
            Job(run.name, StudyJob(run, self.out / UNFINISHED / run.name))
            for run in self.runs
            if run.name not in done
        ]

    def run(self, engine: Engine[StudyJob, Line]) -> Generator[JobProgress[StudyJob, Line]]:
        """Train what remains and record each agent when it is finished.

        **Arguments:**

        - `engine`: runs `train_study_run`.

        **Returns:** the progress of jobs, as they run. ValueError if another process runs a study
        in the folder.
        """
        with hold_folder(self.out):
            for progress in engine.run(self.remaining()):
                if progress.result is not None:
                    about = {"study": self.name, "name": progress.job.id}
                    self.records.append([progress.result | about])
                    shutil.rmtree(progress.job.payload.folder, ignore_errors=True)
                yield progress
