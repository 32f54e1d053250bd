"""`longpass pbt TASK`, and the live view of any populations."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.table import Table

from longpass._names import EngineName
from longpass._settings import AgentFields, PopulationFields
from longpass.cli._live import Work, follow, span
from longpass.cli._worlds import WorldParams, environment_of, recorded_params

if TYPE_CHECKING:
    from longpass.agents import Members, Population
    from longpass.jobs import Engine, Job, Update


@dataclasses.dataclass
class Pbt:
    """Population based training on a task, as the paper adapts it (appendix D).

    Members with their own hyper-parameters train for a round of episodes each. Then each samples
    another and compares scores of the last episodes by a t-test; if the other is better, its
    weights are copied. Hyper-parameters stay. Kill it at any moment: --resume goes on, exactly as
    if nothing had happened.

      longpass pbt cued-catch --block-every 3 --members 9 --rounds 5 --out runs/population
      longpass figure lineage runs/population
    """

    task: WorldParams
    """What to learn. Every parameter can be set: longpass pbt t-maze --level 0."""
    agent: AgentFields = dataclasses.field(default_factory=AgentFields)
    population: PopulationFields = dataclasses.field(default_factory=PopulationFields)
    out: Path = Path("runs/population")
    """The population's folder; it is made if it is not there."""
    resume: bool = False
    """Go on with the population in --out, with its flags; --rounds may be more."""
    engine: EngineName = "local"
    """Where members train: processes on this machine, or workers on a Ray cluster."""
    address: str | None = None
    """For --engine ray: the cluster to join, auto for the one that runs on this machine; without
    it, one is started here for the run."""
    workers: int | None = None
    """Processes; by default one a core."""
    json: bool = False
    """Print one JSON object on standard output, and nothing else there."""

    def run(self, console: Console) -> dict[str, Any]:
        from longpass.agents import Population, train_round
        from longpass.jobs import engine_for

        # First the engine: Ray is to be started before JAX is used.
        with engine_for(self.engine, self.workers, train_round, self.address) as engine:
            population = Population(self.plan(), self.out, resume=self.resume)
            again = "the same command with --resume"
            result = train_populations([population], engine, engine.workers, console, again)
        return {
            "command": "pbt",
            "out": str(self.out),
            "task": population.plan.config.task,
            "return_max": population.plan.config.best(),
            "members": population.summary(),
            **result,
        }

    def plan(self) -> "Members":
        """What these flags ask for, complete."""
        from longpass.agents import Members, configure

        task = environment_of(self.task).name.replace("-", "_")
        config = configure(task, recorded_params(self.task), self.agent)
        return Members(config=config, **dataclasses.asdict(self.population))


def train_populations(
    populations: "list[Population]",
    engine: "Engine",
    workers: int,
    console: Console,
    again: str = "the same command",
) -> dict[str, Any]:
    """Train what populations have left, with a live view and tables; the end of what `--json`
    prints. `again`: how the user goes on after stopping it."""
    from longpass.agents import carry_out

    expected = sum(population.expected() for population in populations)
    view = _View(populations, expected, workers)
    if expected:
        places = [str(population.out) for population in populations]
        where = places[0] if len(places) == 1 else f"{len(places)} folders like {places[0]}"
        console.print(
            f"about {span(expected / workers)} on {workers} workers, into {where}",
            highlight=False,
            soft_wrap=True,
        )
    stopped = follow(carry_out(populations, engine), view, console)
    for population in populations:
        if population.plan.members > 1:
            console.print(_members(population.plan, population.summary(), {}))
    if stopped:
        console.print(f"stopped: {again} goes on from the last rounds that were done")
        raise KeyboardInterrupt
    for error in view.errors:
        console.print(f"longpass: {error}", style="red", markup=False, soft_wrap=True)
    return {"seconds": round(view.spent, 1), "failed": len(view.errors), "ok": not view.errors}


class _View(Work):
    """Populations as they render themselves: every member of those that train now."""

    _SHOWN = 3  # populations at a time

    def __init__(self, populations: "list[Population]", total: float, workers: int):
        super().__init__(self._seconds, total, workers)
        self._populations = populations
        self._rows = [population.summary() for population in populations]
        self._episodes = 0

    def _seconds(self, job: "Job") -> float:
        from longpass.agents import estimate_round

        plan = self._populations[job.runs[0]].plan
        return estimate_round(plan.config, plan.episodes)

    def hear(self, update: "Update") -> None:
        super().hear(update)
        place, member = update.job.runs
        if update.error is not None:
            out = self._populations[place].out
            self.errors.append(f"member {member} of {out} failed: {update.error}")
        elif update.records is not None:
            self._episodes += update.job.settings[0].episodes
            self._rows[place] = self._populations[place].summary()

    def __rich__(self) -> Group:
        partly = sum(one.share * job.settings[0].episodes for job, one in self.running.items())
        rate = (self._episodes + partly) / self.spent
        line = f"{rate:,.0f} episodes a second, {span(self.left)} left"
        places = sorted({job.runs[0] for job in self.running})[: self._SHOWN]
        tables = [
            _members(
                self._populations[place].plan,
                self._rows[place],
                {job.runs[1]: one for job, one in self.running.items() if job.runs[0] == place},
            )
            for place in places
        ]
        return Group(*tables, line)


def _members(plan: "Members", rows: list[dict[str, Any]], running: "dict[int, Update]") -> Table:
    """Every member: hyper-parameters, how far its round is, its mean return, its copies."""
    from longpass.agents import SPREAD

    columns = [name.replace("_", " ") for name in SPREAD]
    table = Table("member", *columns, "round", "episodes", "mean return", "copies")
    for column in table.columns:
        column.justify = "right"
    best = plan.config.best()
    family, block = plan.config.network["family"], plan.config.settings.block_every
    table.title = f"{plan.config.title} · {family} · gradients over {block}"
    table.caption = f"the highest return there is: {best:.3f}"
    for row in rows:
        now = running.get(row["member"])
        number, mean, done = row["rounds"], row["mean"], ""
        if now is not None:
            number += 1
            mean = now.smoothed[-1] if now.smoothed else None
            done = f"{min(now.share, 1.0) * plan.episodes:,.0f}"
        table.add_row(
            str(row["member"]),
            *(f"{row['hyper'][name]:.2g}" for name in SPREAD),
            f"{number} of {plan.rounds}",
            done or f"{row['episodes']:,}",
            "" if mean is None else f"{mean:.3f}",
            str(row["copies"]),
        )
    return table
