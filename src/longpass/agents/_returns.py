"""Returns of agents, from the records of populations, single runs and studies.

A population's curve is the mean of its top three members at each point, as in the paper; we take
the three that are best in the end, over their last 3,000 episodes. A single run counts as a
population of one. A run of a study ends when it has solved its world: from there on its last return
stands. Nothing here imports JAX before records are read.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from jaxtyping import Float

from longpass._fields import Overrides, replace_settings, to_json
from longpass.agents._curves import learning_curve
from longpass.agents._defaults import resolve_settings
from longpass.agents._members import POPULATION, find_members
from longpass.agents._settings import AgentSettings, RunSettings, holds_agent, load_settings
from longpass.agents._study import RESULT_NEEDS, STUDY, UNFINISHED
from longpass.records import RECORDS, SETTINGS, Line, Records, read_json

Axis = Literal["episodes", "steps", "optimiser_steps"]
"""What curves are drawn over."""
Place = TypeVar("Place")
TOP = 3
"""A population's curve is the mean of this many of its best members."""


@dataclasses.dataclass(frozen=True)
class Returns:
    """The curves of one run: of a population, or of a single agent."""

    settings: RunSettings
    """The settings of its first member."""
    members: int
    curves: tuple[tuple[Float[np.ndarray, " _"], Float[np.ndarray, " _"]], ...]
    """(Progress so far, mean return of the last 100 episodes) of its top members."""
    solved: bool = False
    """Whether it ended because it had solved its world."""
    diverged: bool = False
    """Whether it ended because a loss or a gradient was not finite."""
    complete: bool = True
    """Whether training is complete: who has not learned by then has failed."""

    @functools.cached_property
    def end(self) -> float:
        """How far all of its top members are."""
        return min(progress[-1] for progress, _ in self.curves)

    @property
    def score(self) -> float:
        """The mean of the last returns of its top members; if it diverged, below all others."""
        if self.diverged:
            return -np.inf
        return float(np.mean([returns[-1] for _, returns in self.curves]))

    def sample(self, grid: Float[np.ndarray, " grid"]) -> Float[np.ndarray, " grid"]:
        """The mean of its top members at these points; NaN where there are no records."""
        begin = max(progress[0] for progress, _ in self.curves)
        mean = np.mean([np.interp(grid, *one) for one in self.curves], axis=0)
        inside = (grid >= begin) & ((grid <= self.end) | self.solved)
        return np.where(inside, mean, np.nan)


def find_returns(records: Path, axis: Axis = "episodes") -> list[Returns]:
    """The runs in a folder or below it; of runs with equal settings, the longest one.

    **Arguments:**

    - `records`: the folder.
    - `axis`: what the progress of their curves counts.

    **Returns:**

    One `Returns` per run or population that was found.
    """
    records = Path(records)
    # Agents of a study count when they are finished.
    unfinished = {path.parent / UNFINISHED for path in records.rglob(STUDY)}
    populations = {path.parent for path in records.rglob(POPULATION)}
    single = {
        path.parent
        for path in records.rglob(SETTINGS)
        if path.parent.parent.parent not in populations
        and path.parent.parent not in unfinished
        and holds_agent(path.parent)
    }
    runs = [
        _read_population(folder, axis) if folder in populations else _read_single(folder, axis)
        for folder in sorted(populations | single)
    ]
    lines = [
        _read_line(line, axis)
        for path in sorted(records.rglob(STUDY))
        for line in Records(path.parent / RECORDS).read_events("result", RESULT_NEEDS)
    ]
    return keep_longest([one for one in runs if one is not None] + lines)


def keep_longest(runs: list[Returns]) -> list[Returns]:
    """Of runs with equal settings, keep the longest one, of complete ones if there are some.

    **Arguments:**

    - `runs`: the returns of runs.

    **Returns:** those that are kept, in order.
    """
    found: dict[str, Returns] = {}
    for one in runs:
        key = f"{one.members} {identify_run(one.settings)}"
        best = found.get(key)
        if best is None or (best.complete, best.end) < (one.complete, one.end):
            found[key] = one
    return list(found.values())


def group_runs(
    runs: Iterable[Returns], find_place: Callable[[RunSettings], Place | None]
) -> dict[Place, list[Returns]]:
    """Group runs by their place in a figure or table.

    **Arguments:**

    - `runs`: the returns of runs.
    - `find_place`: the place of a run with these settings; None if it has none.

    **Returns:** the runs of each place that has some.
    """
    groups: dict[Place, list[Returns]] = {}
    for run in runs:
        place = find_place(run.settings)
        if place is not None:
            groups.setdefault(place, []).append(run)
    return groups


def drop_equal(runs: Iterable[Returns]) -> list[Returns]:
    """Keep one of each runs that differ only in a `block_every` that cannot matter to them.

    With a frozen writer no gradient passes through the state of a memory made of pools: what is
    left of `block_every` is the number of slices.

    **Arguments:**

    - `runs`: the returns of runs.

    **Returns:** those that are kept, in order.
    """
    return list({f"{run.members} {_identify_frozen(run.settings)}": run for run in runs}.values())


def _identify_frozen(run: RunSettings) -> str:
    agent = run.agent
    if agent.network.has_pools and agent.network.writer == "frozen":
        agent = replace_settings(agent, {"block_every": 1})
    return identify_run(dataclasses.replace(run, agent=agent))


def has_defaults(
    run: RunSettings,
    ignore: str | None = None,
    changes: Overrides | None = None,
    *,
    paper: bool = False,
) -> bool:
    """Whether a run has the paper's parameters of its world and the defaults of its memory there.

    Seed and `block_every` may be any.

    **Arguments:**

    - `run`: the settings.
    - `ignore`: a parameter of the world that may differ.
    - `changes`: settings of the agent that must have these values instead of the defaults.
    - `paper`: whether the network must have the paper's own form.

    **Returns:**

    True if it has.
    """
    if run.is_gymnasium:
        return False
    chosen = tuple((changes or {}).items())
    return _have_defaults(run.env, run.params, run.agent, ignore, chosen, paper)


# Thousands of runs may differ in nothing but their seeds.
@functools.cache
def _have_defaults(
    env: str,
    params: Any,
    agent: AgentSettings,
    ignore: str | None,
    changes: tuple[tuple[str, Any], ...],
    paper: bool,
) -> bool:
    """`has_defaults` of what it depends on."""
    given, usual = to_json(params), to_json(type(params)())
    if any(given[name] != value for name, value in usual.items() if name != ignore):
        return False
    chosen = {"memory": agent.network.memory, "block_every": agent.learner.block_every}
    defaults = resolve_settings(env, params, chosen | dict(changes), paper=paper)
    return _identify_agent(agent) == _identify_agent(defaults.agent)


def identify_run(run: RunSettings) -> str:
    """Name everything that the results of a run depend on.

    **Arguments:**

    - `run`: its settings.

    **Returns:** text that is equal for runs with equal results.
    """
    return str([run.env, run.params, _identify_agent(run.agent), run.seed])


@functools.cache
def _identify_agent(agent: AgentSettings) -> str:
    return str(to_json(replace_settings(agent, {"updates_per_call": 1, "extra_pools": 0})))


def _read_line(line: Line, axis: Axis) -> Returns:
    """The agent of a line of a study. If none of its episodes ended, its curve is one NaN."""
    progress, returns = (np.array(line["curve"][name], float) for name in (axis, "return_100"))
    if not len(progress):
        progress, returns = np.zeros(1), np.full(1, np.nan)
    run, diverged = RunSettings.from_json(line["settings"]), line["diverged"] is not None
    return Returns(run, 1, ((progress, returns),), line["solved"], diverged)


def _read_single(folder: Path, axis: Axis) -> Returns | None:
    """A single run; None if no episode has ended yet."""
    found = _read_members([folder], axis)
    if found is None:
        return None
    diverged = _has_event(folder, "diverged")
    complete = diverged or _has_event(folder, "result")
    return dataclasses.replace(found, diverged=diverged, complete=complete)


def _read_population(folder: Path, axis: Axis) -> Returns | None:
    """A population; None if no member has begun or no episode has ended yet."""
    members = find_members(folder)
    if not members:
        return None
    plan = read_json(folder / POPULATION, "the plan of a population").get("plan", {})
    size, rounds = plan.get("size"), plan.get("rounds", 0)
    complete = len(members) == size and all(
        _has_event(member, "round", least=rounds) for member in members
    )
    found = _read_members(members, axis)
    return None if found is None else dataclasses.replace(found, complete=complete)


def _has_event(folder: Path, event: str, least: int = 1) -> bool:
    return len(list(Records(folder / RECORDS).read_events(event, {}))) >= least


def _read_members(members: list[Path], axis: Axis) -> Returns | None:
    """The returns of a population, or of a single run; None if no episode has ended yet."""
    run = load_settings(members[0])
    # Older records do not count the steps of the optimiser.
    per_update = run.agent.learner.optimiser_steps
    lines = [
        [line for line in learning_curve(one) if line["return_100"] is not None] for one in members
    ]
    lines = sorted(filter(None, lines), key=lambda one: one[-1]["return_3000"], reverse=True)
    if not lines:
        return None
    curves = tuple(
        (
            np.array(
                [line.get(axis, per_update * line["updates"]) for line in one],
                float,
            ),
            np.array([line["return_100"] for line in one], float),
        )
        for one in lines[:TOP]
    )
    return Returns(run, len(members), curves)
