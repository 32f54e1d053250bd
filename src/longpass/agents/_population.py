"""A population in a folder: members trained in rounds, and which member copied which.

Appendix E of the paper.
"""

import contextlib
import dataclasses
import json
from collections.abc import Generator, Sequence
from pathlib import Path

import numpy as np

from longpass._archives import DamagedFile, read_archive
from longpass._fields import to_json
from longpass._json import JsonObject
from longpass.agents._estimate import estimate_round
from longpass.agents._members import AUDIT, MEMBERS, POPULATION, member_settings
from longpass.agents._rounds import Round, RoundResult, read_scores
from longpass.agents._run import find_rounds, round_number
from longpass.agents._selection import decide_copies
from longpass.agents._settings import KIND, PopulationPlan
from longpass.jobs import Engine, Job, JobProgress
from longpass.records import (
    NUMBER_OR_NONE,
    RECORDS,
    SETTINGS,
    Line,
    Needs,
    Records,
    check_record,
    check_same_settings,
    hold_folder,
    make_folder,
    provenance,
    read_json,
    refuse_foreign,
    refuse_held,
    write_atomically,
    write_json,
)

AUDIT_NEEDS: Needs = {"round": int, "member": int, "other": int, "copied": bool}
"""What is read of a line of the audit."""
ROUND_NEEDS: Needs = {"round": int, "episodes": int, "mean": NUMBER_OR_NONE}
"""What figures read of a round's line."""
_JOBS = 64  # given to an engine at a time: each holds states of megabytes


class Population:
    """The members of a plan, trained round by round.

    `population.json` has the plan and the hyper-parameters of all members. `members/<i>` is the
    folder of a run: `settings.json`, `records.jsonl` and `round-<n>.npz`, the member's checkpoint
    after round n. `audit.jsonl` has every comparison. The process may be killed at any time: a
    resumed population leaves what one that was never stopped leaves.

    **Arguments:**

    - `plan`: the population.
    - `out`: its folder. Nothing is written before `prepare`.
    - `resume`: continue the population in the folder. Without it, a folder that holds one is
      refused.

    >>> from longpass.agents import resolve_settings
    >>> plan = PopulationPlan(run=resolve_settings("t-maze"), size=3)
    >>> population = Population(plan, Path("population"))
    >>> len(population.runs), population.remaining()
    (3, 15)
    """

    def __init__(self, plan: PopulationPlan, out: Path, *, resume: bool = False):
        self.plan, self.out, self.resume = plan, Path(out), resume
        self.runs = [member_settings(plan, member) for member in range(plan.size)]
        self.audit = Records(self.out / AUDIT)
        refuse_held(self.out)
        self._check_folder()
        self._last_lines = [self._read_last_line(member) for member in range(plan.size)]

    def prepare(self) -> None:
        """Write the plan and the members' folders. Call it while the folder is held."""
        found = self._check_folder()
        if found is not None:
            # Before anything is written: it may be that the population cannot be continued.
            self.delete_damaged_rounds()
            self._check_states()
        members = [{"seed": run.seed, **to_json(run.agent.hyper)} for run in self.runs]
        about = provenance() if found is None else found["provenance"]
        content = {"plan": to_json(self.plan), "members": members, "provenance": about}
        if found != content:
            write_json(self.out / POPULATION, content)
        for member, run in enumerate(self.runs):
            folder, settings = make_folder("out", self.folder(member)), run.to_json()
            if not (folder / SETTINGS).exists():
                write_json(folder / SETTINGS, {"kind": KIND, **settings})
            if not self.records(member).read():
                begin = {"event": "begin", "member": member, "kind": KIND, "settings": settings}
                self.records(member).append([begin | provenance()])
        self.resume = True

    def folder(self, member: int) -> Path:
        """The folder of a member's run."""
        return self.out / MEMBERS / str(member)

    def records(self, member: int) -> Records:
        """A member's records."""
        return Records(self.folder(member) / RECORDS)

    def rounds_done(self) -> list[int]:
        """How many rounds each member has done."""
        return [
            1 + max(self._rounds_on_disk(member), default=-1) for member in range(self.plan.size)
        ]

    def remaining(self) -> int:
        """How many rounds are left, over all members."""
        return sum(max(0, self.plan.rounds - done) for done in self.rounds_done())

    def estimate_seconds(self) -> float:
        """Core-seconds that the remaining rounds will take, within a factor of two."""
        return self.remaining() * estimate_round(self.plan.run, self.plan.episodes)

    def next_round(self) -> list[tuple[int, Round]]:
        """Start the next round: (member, what is trained) of all members that have not done it.

        Once all members have done the round before, this decides which member copies which,
        writes the audit and deletes the checkpoints of earlier rounds. A checkpoint that is damaged
        is deleted first, so that its round is trained again.
        """
        self.delete_damaged_rounds()
        done = self.rounds_done()
        number = min(done)
        if number >= self.plan.rounds:
            return []
        donors: dict[int, int] = {}
        if number:
            donors = self.decide(number - 1)
            self.delete_old_rounds(number - 1)
        return [
            (member, self._make_round(member, number, donors.get(member)))
            for member in range(self.plan.size)
            if done[member] == number
        ]

    def decide(self, number: int) -> dict[int, int]:
        """The donors after a round, by member: from the audit, or decided and written there."""
        found = [line for line in self._decisions() if line["round"] == number]
        if len(found) < self.plan.size:
            scores = [self._read_scores(member, number) for member in range(self.plan.size)]
            plan = self.plan
            decisions = decide_copies(scores, plan.run.seed, number, plan.significance)
            # A power cut may have kept some of the lines.
            known = {line["member"] for line in found}
            new = [dataclasses.asdict(one) for one in decisions if one.member not in known]
            if new:
                self.audit.append(new)
            found += new
        return {line["member"]: line["other"] for line in found if line["copied"]}

    def delete_old_rounds(self, number: int) -> None:
        """Delete checkpoints from before round `number`, except for the last of them.

        It stays so that round `number` can be trained again if its checkpoint is damaged.
        """
        for member in range(self.plan.size):
            for older in self._rounds_on_disk(member):
                if older < number - 1:
                    self._path(member, older).unlink()

    def delete_damaged_rounds(self) -> None:
        """Delete checkpoints that cannot be read."""
        for member in range(self.plan.size):
            for number in self._rounds_on_disk(member):
                if _is_damaged(self._path(member, number)):
                    self._path(member, number).unlink()

    def record(self, member: int, number: int, result: RoundResult) -> None:
        """Write a finished round. Its checkpoint, by which it counts as done, is written last."""
        records, line = self.records(member), result.lines[-1]
        if number not in self._round_lines(member):
            records.append(result.lines)
        write_atomically(self._path(member, number), lambda file: file.write(result.state))
        self._last_lines[member] = line

    def summary(self) -> list[JsonObject]:
        """One row per member: hyper-parameters, rounds, episodes, last mean return, copies."""
        copies = [line["member"] for line in self._decisions() if line["copied"]]
        return [
            {
                "member": member,
                "hyper": to_json(run.agent.hyper),
                "rounds": 0 if line is None else line["round"] + 1,
                "episodes": 0 if line is None else line["episodes"],
                "mean": None if line is None else line["mean"],
                "copies": copies.count(member),
            }
            for member, (run, line) in enumerate(zip(self.runs, self._last_lines, strict=True))
        ]

    def _check_folder(self) -> JsonObject | None:
        """The content of `population.json`, or None. ValueError if the folder is not ours."""
        path = self.out / POPULATION
        if not path.exists():
            if self.out.exists():
                refuse_foreign(make_folder("out", self.out), POPULATION, "a population")
            return None
        if not self.resume:
            raise ValueError(
                f"out is {str(self.out)!r}, which holds a population: pass --resume to continue "
                f"it, or choose another folder"
            )
        found = read_json(path, "the plan of a population")
        check_record(str(path), found, {"plan": dict, "members": list, "provenance": dict})
        # More rounds may be asked for; everything else decides what the earlier ones were.
        planned = json.loads(json.dumps(to_json(self.plan)))
        check_same_settings(self.out, found["plan"], planned, ignore=("rounds",))
        return found

    def _make_round(self, member: int, number: int, donor: int | None) -> Round:
        return Round(
            run=self.runs[member],
            number=number,
            episodes=self.plan.episodes,
            window=self.plan.window,
            state=self._read_state(member, number - 1) if number else None,
            donor=None if donor is None else self._read_state(donor, number - 1),
            optimiser_state=self.plan.optimiser_state,
        )

    def _path(self, member: int, number: int) -> Path:
        return self.folder(member) / f"round-{number}.npz"

    def _rounds_on_disk(self, member: int) -> list[int]:
        """The rounds of which there is a checkpoint."""
        return [round_number(path) for path in find_rounds(self.folder(member))]

    def _round_lines(self, member: int) -> dict[int, Line]:
        """The lines of a member's rounds, by number."""
        lines = self.records(member).read_events("round", {**ROUND_NEEDS, "scored": int})
        return {line["round"]: line for line in lines}

    def _decisions(self) -> list[Line]:
        """All lines of the audit."""
        return self.audit.read_events(None, AUDIT_NEEDS)

    def _read_last_line(self, member: int) -> Line | None:
        rounds = self._round_lines(member)
        return rounds[max(rounds)] if rounds else None

    def _read_scores(self, member: int, number: int) -> np.ndarray:
        """The scores by which a member is compared after a round."""
        scored = self._round_lines(member)[number]["scored"]
        return read_scores(self._read_state(member, number))[-scored:][:scored]

    def _check_states(self) -> None:
        """ValueError if a checkpoint is missing from which the next round begins."""
        last = min(self.rounds_done()) - 1
        for member in range(self.plan.size if last >= 0 else 0):
            self._read_state(member, last)

    def _read_state(self, member: int, number: int) -> bytes:
        path = self._path(member, number)
        try:
            return path.read_bytes()
        except FileNotFoundError:
            raise ValueError(
                f"{path} is missing or was damaged, and so was the round after it: they cannot be "
                f"trained again, because earlier checkpoints were deleted. Start the population "
                f"again in another folder"
            ) from None


def _is_damaged(path: Path) -> bool:
    """Whether a checkpoint's file is not a complete archive."""
    try:
        read_archive(path)
    except DamagedFile:
        return True
    return False


def run_populations(
    populations: Sequence[Population], engine: Engine[Round, RoundResult]
) -> Generator[JobProgress[Round, RoundResult]]:
    """Train what is left of several populations, side by side, and record rounds as they finish.

    A population of which a round fails is left as it is; the others continue.

    **Arguments:**

    - `populations`: their folders are held while this runs.
    - `engine`: runs `train_round`.

    **Returns:** the progress of jobs, whose ids are (index of the population, member).
    """
    with contextlib.ExitStack() as locks:
        for population in populations:
            make_folder("out", population.out)
            locks.enter_context(hold_folder(population.out))
            population.prepare()
        failed: set[int] = set()
        while True:
            jobs: list[Job[Round]] = []
            for index, population in enumerate(populations):
                if index not in failed and len(jobs) < _JOBS:
                    rounds = population.next_round()
                    jobs += [Job((index, member), task) for member, task in rounds]
            if not jobs:
                return
            for progress in engine.run(jobs):
                index, member = progress.job.id
                if progress.result is not None:
                    number = progress.job.payload.number
                    populations[index].record(member, number, progress.result)
                if progress.state == "failed":
                    failed.add(index)
                yield progress
