"""A population in a folder: members trained in rounds, who copied whom, what is left to do."""

import contextlib
import json
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from longpass.agents import Round
from longpass.agents._estimate import estimate_round
from longpass.agents._population_plan import Members
from longpass.agents._selection import decide
from longpass.jobs import Engine, Job, JobProgress
from longpass.records import Records, provenance
from longpass.records._folders import refuse_foreign

_PLAN = "population.json"
_AT_ONCE = 64  # jobs given to an engine: each holds states of megabytes


class Population:
    """Members of a plan, trained round by round.

    `population.json` has the plan and everyone's hyper-parameters; `members/<i>` is the folder of
    a run as `longpass train` leaves it, with `round-<n>.npz` beside, the member as round n left it;
    `audit.jsonl` has every comparison. The folder may be left at any moment and taken up again: a
    round that is done is not trained again, and what comes out is what would have.
    """

    def __init__(self, plan: Members, out: Path, *, resume: bool = False):
        """ValueError if the plan is impossible or the folder is of something else."""
        plan.check()
        self.plan, self.out = plan, make_folder("out", out)
        self.configs = [plan.member(i) for i in range(plan.members)]
        self.audit = Records(self.out / "audit.jsonl")
        self._claim(resume)
        for member, config in enumerate(self.configs):
            place = make_folder("out", self.folder(member))
            config.save(place)
            if not self.records(member).read():
                begin = {"event": "begin", "member": member, **config.about(), **provenance()}
                self.records(member).append([begin])

    def _claim(self, resume: bool) -> None:
        path, planned = self.out / _PLAN, json.loads(json.dumps(self.plan.to_dict()))
        about = provenance()
        if path.exists() and not resume:
            raise ValueError(
                f"out is {str(self.out)!r}, which holds a population: --resume goes on with it, "
                f"or choose another folder"
            )
        if not path.exists():
            if resume:
                raise ValueError(
                    f"out is {str(self.out)!r}: there is no population to resume in it"
                )
            refuse_foreign(self.out, _PLAN, "a population")
        else:
            found = _read_plan(path)
            about = found["provenance"]
            for name, value in planned.items():
                # More rounds may be asked for; all else decides what the earlier ones were.
                if name != "rounds" and found["plan"].get(name) != value:
                    raise ValueError(
                        f"{name} is {value!r}, but the population in {self.out} has "
                        f"{found['plan'].get(name)!r}: resume with the settings that it was begun "
                        f"with, or choose another folder"
                    )
        members = [{"seed": config.seed, **config.hyper} for config in self.configs]
        text = json.dumps({"plan": planned, "members": members, "provenance": about}, indent=1)
        write_atomically(path, lambda file: file.write(f"{text}\n".encode()))

    def folder(self, member: int) -> Path:
        """The folder of a member's run."""
        return self.out / "members" / str(member)

    def records(self, member: int) -> Records:
        """A member's records, as those of any run."""
        return Records(self.folder(member) / "records.jsonl")

    def done(self) -> list[int]:
        """How many rounds each member has done."""
        return [
            1 + max((number for number, _ in self._rounds(member)), default=-1)
            for member in range(self.plan.members)
        ]

    def left(self, index: int = 0) -> list[Job[Round]]:
        """The rounds that can be trained now: those of members who have not done what others have,
        or everyone's next. Who copies whom is decided here, once all have done the round before.

        A job's id is (`index`, member), where the caller chooses `index`.
        """
        done = self.done()
        number = min(done)
        if number >= self.plan.rounds:
            return []
        donors = self._decided(number - 1) if number else {}
        return [
            Job((index, member), self._round(member, number, donors.get(member)))
            for member in range(self.plan.members)
            if done[member] == number
        ]

    def expected(self) -> float:
        """Core-seconds that all that is left will take, give or take a factor of two."""
        left = sum(self.plan.rounds - min(done, self.plan.rounds) for done in self.done())
        return left * estimate_round(self.plan.config, self.plan.episodes)

    def record(self, job: Job[Round], result: dict[str, Any]) -> None:
        """Write down a round that is done. Its last file is the one by which it counts as done."""
        member, task = job.id[1], job.payload
        records, state = self.records(member), result["state"]
        rounds = [line for line in records.read() if line.get("event") == "round"]
        if task.number not in [line["round"] for line in rounds]:
            records.append(result["records"])
        checkpoint = self.folder(member) / "checkpoint.npz"
        write_atomically(checkpoint, lambda file: file.write(state))
        arrays = {
            "state": np.frombuffer(state, np.uint8),
            "scores": np.array(result["scores"], np.float32),
        }
        path = self._path(member, task.number)
        write_atomically(path, lambda file: np.savez(file, **arrays))

    def summary(self) -> list[dict[str, Any]]:
        """How each member is: its hyper-parameters, its last round's mean, how often it copied."""
        copies = [line["member"] for line in self.audit.read() if line["copied"]]
        rows = []
        for member, config in enumerate(self.configs):
            lines = [one for one in self.records(member).read() if one.get("event") == "round"]
            last = lines[-1] if lines else {"episodes": 0, "mean": None}
            rows.append(
                {
                    "member": member,
                    "hyper": config.hyper,
                    "rounds": len(lines),
                    "episodes": last["episodes"],
                    "mean": last["mean"],
                    "copies": copies.count(member),
                }
            )
        return rows

    def _decided(self, number: int) -> dict[int, int]:
        """Whom members copy after this round: as the audit has it, or decided now."""
        found = [line for line in self.audit.read() if line["round"] == number]
        if len(found) < self.plan.members:
            scores = [self._load(member, number)["scores"] for member in range(self.plan.members)]
            decisions = decide(scores, self.plan.config.seed, number, self.plan.p)
            # A power cut may have kept a part of them.
            known = {line["member"] for line in found}
            fresh = [one.to_dict() for one in decisions if one.member not in known]
            if fresh:
                self.audit.append(fresh)
            found += fresh
        self._forget(number)
        return {line["member"]: line["other"] for line in found if line["copied"]}

    def _forget(self, number: int) -> None:
        """Delete what rounds before this one left: nobody copies from it any more."""
        for member in range(self.plan.members):
            for older, path in self._rounds(member):
                if older < number:
                    path.unlink()

    def _round(self, member: int, number: int, donor: int | None) -> Round:
        plan = self.plan
        before = number - 1
        return Round(
            self.configs[member].text(),
            number,
            plan.episodes,
            plan.window,
            self._load(member, before)["state"].tobytes() if number else None,
            None if donor is None else self._load(donor, before)["state"].tobytes(),
            plan.optimiser_state,
        )

    def _path(self, member: int, number: int) -> Path:
        return self.folder(member) / f"round-{number}.npz"

    def _rounds(self, member: int) -> list[tuple[int, Path]]:
        """(Number, file) of the rounds that are on the disk."""
        paths = self.folder(member).glob("round-*.npz")
        return [(int(path.stem.removeprefix("round-")), path) for path in paths]

    def _load(self, member: int, number: int) -> dict[str, np.ndarray]:
        path = self._path(member, number)
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                return {name: archive[name] for name in ("state", "scores")}
        except Exception as error:
            raise ValueError(
                f"{path} is damaged ({error}): delete it, and its round is trained again"
            ) from None


def run_populations(
    populations: Sequence[Population], engine: Engine[Round, dict[str, Any]]
) -> Generator[JobProgress[Round, dict[str, Any]]]:
    """Train what populations have left, side by side, recording rounds as they finish.

    Yields the progress of jobs, whose ids are (index of the population, member). A population of
    which a round fails is left where it is; the others continue.
    """
    with contextlib.ExitStack() as locks:
        for population in populations:
            locks.enter_context(hold_folder(population.out))
        failed: set[int] = set()
        while True:
            jobs: list[Job[Round]] = []
            for index, population in enumerate(populations):
                if index not in failed and len(jobs) < _AT_ONCE:
                    jobs += population.left(index)
            if not jobs:
                return
            for progress in engine.run(jobs):
                index, _ = progress.job.id
                if progress.result is not None:
                    populations[index].record(progress.job, progress.result)
                if progress.state == "failed":
                    failed.add(index)
                yield progress


def _read_plan(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text())
        return {"plan": dict(found["plan"]), "provenance": dict(found["provenance"])}
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"{path} is not a plan: the file is damaged or not ours") from None
