"""A population, as the page shows it: one curve, and who copied whom."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from longpass._json import JsonObject
from longpass.agents import AUDIT, TOP
from longpass.records import Line
from longpass.report._run import Number, Run
from longpass.report._tail import Tail

_POINTS = 100  # of the population's curve


class Population:
    """The rounds of a population and its members' weights.

    Its run is listed beside those of its members. Its curve is the mean of its best members, as in
    the figures (`longpass.agents.Returns`).

    **Arguments:**

    - `folder`, `shown`: the folder, and the same as text.
    - `collection`: the folder below DIR that it is from.
    - `content`: what `population.json` holds.
    """

    def __init__(self, folder: Path, shown: str, collection: str, content: JsonObject):
        plan = content.get("plan")
        plan = plan if isinstance(plan, dict) else {}
        self.folder, self.shown = folder, shown
        self.size, self.rounds, self.episodes = (
            _count(plan.get(name)) for name in ("size", "rounds", "episodes")
        )
        self.run = Run(str(folder), shown, collection, "population", population=shown)
        self.members: list[Run] = []
        self.audit: list[Line] = []
        self._tail = Tail(folder / AUDIT)
        self._seen = -1  # the version of the members that the curve was made of

    @property
    def rounds_done(self) -> float:
        """Rounds so far, over all members; of those that are not done, the part that is."""
        done = 0.0
        for member in self.members:
            complete = len(member.rounds)
            episodes = member.episodes[-1] if member.episodes else 0.0
            part = episodes / max(1, self.episodes) - complete
            done += complete + min(max(part, 0.0), 1.0) * (complete < self.rounds)
        return done

    def update(self, members: list[Run]) -> bool:
        """Take in what its members and its audit have become. Returns whether anything changed."""
        try:
            new = self._tail.read()
        except OSError:
            new = None
        if new is not None:
            self.audit = ([] if new.anew else self.audit) + new.records
        latest = max((run.version for run in members), default=0)
        if latest <= self._seen and not (new and new.records):
            return False
        self._seen = latest
        # Runs of several looks arrive in any order.
        self.members = sorted(members, key=lambda run: run.member or 0)
        self._make_curve()
        return bool(self.members)

    def to_json(self) -> JsonObject:
        """What the graph of copies is drawn from."""
        return {
            "id": self.run.id,
            "folder": self.shown,
            "rounds": self.rounds,
            "best": self.run.best,
            "members": [
                {
                    "member": run.member,
                    "means": [_real(run.rounds[n]) for n in sorted(run.rounds)],
                    "learning_rate": run.settings.get("learning_rate"),
                    "entropy_cost": run.settings.get("entropy_cost"),
                    "epsilon": run.settings.get("epsilon"),
                }
                for run in self.members
            ],
            "copies": [
                {name: _count(line.get(name)) for name in ("round", "member", "other")}
                for line in self.audit
                if line.get("copied") is True
            ],
        }

    def _make_curve(self) -> None:
        top = choose_top(self.members)
        if not self.members:
            return
        first, run = self.members[0], self.run
        for name in ("kind", "task", "memory", "block_every", "seed", "commit", "date"):
            setattr(run, name, getattr(first, name))
        run.settings, run.nested = first.settings, first.nested
        run.optimiser_ratio = first.optimiser_ratio
        all_done = all(len(one.rounds) >= self.rounds for one in self.members)
        run.state = "complete" if all_done and len(self.members) == self.size else "unfinished"
        if not top:
            return
        begin, end = max(one.xs[0] for one in top), min(one.xs[-1] for one in top)
        grid = np.linspace(begin, max(begin, end), _POINTS)
        run.xs = grid.tolist()
        run.ys = _mean_at(grid, [(one.xs, one.ys) for one in top])
        run.episodes = _mean_at(grid, [(one.xs, one.episodes) for one in top])
        run.score, run.steps = float(np.mean([one.ys[-1] for one in top])), end


def choose_top(members: Sequence[Run]) -> list[Run]:
    """The members with the highest scores, of those that have a curve."""
    known = [run for run in members if run.ys]
    scores = {run.id: float("-inf") if run.score is None else run.score for run in known}
    return sorted(known, key=lambda run: scores[run.id], reverse=True)[:TOP]


def _mean_at(grid: np.ndarray, curves: Sequence[tuple[list[Number], list[Number]]]) -> list[float]:
    return np.mean([np.interp(grid, *curve) for curve in curves], axis=0).tolist()


def _count(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value < 2**31 else 0


def _real(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and abs(value) < 1e300 else None
