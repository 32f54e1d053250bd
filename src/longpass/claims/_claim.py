"""A claim, what records say about it, and how that decides it."""

import dataclasses
from collections.abc import Callable
from typing import Generic, Literal, TypeVar

from longpass._json import JsonObject
from longpass.claims._statistics import Estimate

Verdict = Literal["holds", "fails", "too few"]
"""What the runs say about a claim."""
LEAST_RUNS = 10
"""A group with fewer runs decides nothing, unless its claim says otherwise."""

Runs = TypeVar("Runs")


@dataclasses.dataclass(frozen=True)
class Measurement:
    """What the runs on one task say about a claim.

    >>> decide(Measurement((20, 20), Estimate(0.4, (0.2, 0.6))), threshold=0.0)
    'holds'
    """

    groups: tuple[int, ...]
    """Number of runs in each group that is compared."""
    estimate: Estimate | None
    """None if a group that is needed has no runs."""


@dataclasses.dataclass(frozen=True)
class Claim(Generic[Runs]):
    """A claim of the paper about several tasks.

    >>> def measure(runs, task):
    ...     return Measurement((len(runs[task]),), Estimate(0.9, (0.8, 1.0)))
    >>> claim = Claim("a", "It learns.", "proportion", 0.5, ("t-maze",), measure)
    >>> evaluate(claim, {"t-maze": [None] * 20}).verdict
    'holds'
    """

    id: str
    text: str
    """The claim, one sentence."""
    statistic: str
    """What its value is, in words."""
    threshold: float
    """The claim holds where the value is above this."""
    tasks: tuple[str, ...]
    measure: Callable[[Runs, str], Measurement]
    """From all runs and the name of a task."""
    least_runs: int = LEAST_RUNS
    """A group with fewer runs decides nothing."""


@dataclasses.dataclass(frozen=True)
class TaskFinding:
    """What became of a claim on one task."""

    task: str
    n: int
    """Runs that were used."""
    value: float | None
    interval: tuple[float, float] | None
    verdict: Verdict


@dataclasses.dataclass(frozen=True)
class Finding:
    """What became of a claim, task by task and as a whole."""

    claim: Claim
    tasks: tuple[TaskFinding, ...]

    @property
    def n(self) -> int:
        """Runs that were used, on all tasks."""
        return sum(one.n for one in self.tasks)

    @property
    def weakest(self) -> TaskFinding:
        """The task that decides: the worst verdict, and of these the lowest value."""
        order: tuple[Verdict, ...] = ("fails", "too few", "holds")
        return min(
            self.tasks,
            key=lambda one: (
                order.index(one.verdict),
                float("inf") if one.value is None else one.value,
            ),
        )

    @property
    def verdict(self) -> Verdict:
        """`fails` if it fails on a task, `holds` if it holds on all, `too few` otherwise."""
        return self.weakest.verdict

    def to_json(self) -> JsonObject:
        """As `longpass claims --json` prints it."""
        return {
            "id": self.claim.id,
            "text": self.claim.text,
            "n": self.n,
            "value": self.weakest.value,
            "interval": self.weakest.interval,
            "verdict": self.verdict,
            "tasks": [dataclasses.asdict(one) for one in self.tasks],
        }


def evaluate(claim: Claim[Runs], runs: Runs) -> Finding:
    """Evaluate a claim on each of its tasks.

    **Arguments:**

    - `claim`: the claim.
    - `runs`: what its `measure` takes.

    **Returns:**

    The finding on each task, and the verdict over all of them.
    """
    return Finding(claim, tuple(_evaluate_task(claim, runs, task) for task in claim.tasks))


def decide(measurement: Measurement, threshold: float, least_runs: int = LEAST_RUNS) -> Verdict:
    """The verdict about a claim on one task.

    **Arguments:**

    - `measurement`: what the runs say.
    - `threshold`: the value above which the claim holds.
    - `least_runs`: what each group must have.

    **Returns:** `too few` if a group has fewer than `least_runs` runs; otherwise `holds` if the
    interval lies above the threshold, `fails` if it lies at or below it, and `too few` if it
    includes values of both sides.
    """
    estimate = measurement.estimate
    if min(measurement.groups) < least_runs or estimate is None or estimate.interval is None:
        return "too few"
    low, high = estimate.interval
    if low > threshold:
        return "holds"
    return "fails" if high <= threshold else "too few"


def _evaluate_task(claim: Claim[Runs], runs: Runs, task: str) -> TaskFinding:
    measurement = claim.measure(runs, task)
    estimate = measurement.estimate
    return TaskFinding(
        task=task,
        n=sum(measurement.groups),
        value=None if estimate is None else estimate.value,
        interval=None if estimate is None else estimate.interval,
        verdict=decide(measurement, claim.threshold, claim.least_runs),
    )
