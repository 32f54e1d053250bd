"""`longpass pbt TASK`, and the live view of any populations."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.table import Table

from longpass._json import JsonObject
from longpass.agents import PopulationSettings
from longpass.cli._factory import check_factory
from longpass.cli._live import LiveView, conclude, follow, print_estimate, span
from longpass.cli._train import AgentFlags
from longpass.cli._worlds import WorldParams, environment_of
from longpass.jobs import EngineName

if TYPE_CHECKING:
    from longpass.agents import Population, PopulationPlan, Round, RoundResult
    from longpass.jobs import Engine, Job, JobProgress


@dataclasses.dataclass(kw_only=True)
class Pbt:
    """Population based training on a world, as the paper adapts it (appendix E).

    Members with different hyper-parameters train for a round of episodes each. Then each samples
    another and compares scores of the last episodes by a t-test; if the other is better, its
    weights are copied. Hyper-parameters are not copied. The process may be killed at any time:
    --resume continues, exactly as if it had not been.

      longpass pbt cued-catch --block-every 3 --members 9 --rounds 5 --out runs/population
      longpass figure lineage runs/population
    """

    task: WorldParams
    """What to learn. Every parameter can be set: longpass pbt t-maze --level 0."""
    agent: AgentFlags
    population: PopulationSettings = dataclasses.field(default_factory=PopulationSettings)
    paper: bool = False
    """The paper's own form: learned writer, plain embedding, no normalisation."""
    seed: int = 0
    """Seed of the population: equal seeds give equal populations."""
    out: Path = Path("runs/population")
    """The population's folder; it is made if it is not there."""
    resume: bool = False
    """Continue the population in --out, with the same flags, or begin it if there is none. --rounds
    may be more than before."""
    engine: EngineName = "local"
    """Where members train: processes on this machine, or workers on a Ray cluster."""
    address: str | None = None
    """For --engine ray: the cluster to join, auto for the one that runs on this machine; without
    it, one is started here for the run."""
    workers: int | None = None
    """Processes; by default one per core."""
    json: bool = False
    """Print one JSON object on standard output, and nothing else there."""

    def run(self, console: Console) -> JsonObject:
        from longpass.agents import Population, train_round
        from longpass.jobs import make_engine

        # First the engine: Ray is to be started before JAX is used.
        with make_engine(self.engine, train_round, self.workers, self.address) as engine:
            plan = self.plan()
            network = plan.run.agent.network
            check_factory(console, network.memory, network.memory_options)
            population = Population(plan, self.out, resume=self.resume)
            result = train_populations([population], engine, console, "--resume")
        run = population.plan.run
        return {
            "command": "pbt",
            "out": str(self.out),
            "task": run.env,
            "return_max": run.max_return(),
            "members": population.summary(),
            **result,
        }

    def plan(self) -> "PopulationPlan":
        """The population that these flags ask for."""
        from longpass.agents import PopulationPlan, resolve_settings

        env = environment_of(self.task).name
        run = resolve_settings(env, self.task, self.agent, paper=self.paper, seed=self.seed)
        return PopulationPlan(run=run, **dataclasses.asdict(self.population))


def train_populations(
    populations: "list[Population]",
    engine: "Engine[Round, RoundResult]",
    console: Console,
    *flags: str,
) -> JsonObject:
    """Train what is left of populations, with a live view and tables.

    **Arguments:**

    - `populations`: what is trained.
    - `engine`: runs `train_round`.
    - `console`: for the view and the tables.
    - `flags`: what the command needs beside what it was given, to continue.

    **Returns:** the last keys of what `--json` prints.
    """
    from longpass.agents import run_populations

    expected = sum(population.estimate_seconds() for population in populations)
    view = _View(populations, expected, engine.workers)
    if expected:
        paths = [str(population.out) for population in populations]
        where = paths[0] if len(paths) == 1 else f"{len(paths)} folders like {paths[0]}"
        print_estimate(console, "", expected, engine.workers, where)
    stopped = follow(run_populations(populations, engine), view, console)
    for population in populations:
        if population.plan.size > 1:
            console.print(_members_table(population.plan, population.summary(), {}))
    conclude(console, view, stopped, *flags)
    return {"seconds": round(view.spent, 1), "failed": len(view.errors), "ok": not view.errors}


class _View(LiveView):
    """A live view of populations: every member of those that train now."""

    _SHOWN = 3  # populations at a time

    def __init__(self, populations: "list[Population]", total: float, workers: int):
        super().__init__(self._estimate_job, total, workers)
        self._populations = populations
        self._rows = [population.summary() for population in populations]
        self._episodes = 0

    def _estimate_job(self, job: "Job[Round]") -> float:
        from longpass.agents import estimate_round

        plan = self._populations[job.id[0]].plan
        return estimate_round(plan.run, plan.episodes)

    def on_progress(self, progress: "JobProgress[Round, RoundResult]") -> None:
        super().on_progress(progress)
        index, member = progress.job.id
        if progress.state == "failed":
            out = self._populations[index].out
            self.errors.append(f"member {member} of {out} failed: {progress.error}")
        elif progress.state == "done":
            self._episodes += progress.job.payload.episodes
            self._rows[index] = self._populations[index].summary()

    def describe(self) -> str:
        rows = [row for rows in self._rows for row in rows]
        rounds = sum(
            population.plan.size * population.plan.rounds for population in self._populations
        )
        return f"{sum(row['rounds'] for row in rows)} of {rounds} rounds done"

    def __rich__(self) -> Group:
        running = self.running.values()
        partly = sum(one.fraction * one.job.payload.episodes for one in running)
        rate = (self._episodes + partly) / self.spent
        line = f"{rate:,.0f} episodes per second, {span(self.left)} left"
        indices = sorted({one.job.id[0] for one in running})[: self._SHOWN]
        tables = [
            _members_table(
                self._populations[index].plan,
                self._rows[index],
                {one.job.id[1]: one for one in running if one.job.id[0] == index},
            )
            for index in indices
        ]
        return Group(*tables, line)


def _members_table(
    plan: "PopulationPlan",
    rows: list[JsonObject],
    running: "dict[int, JobProgress[Round, RoundResult]]",
) -> Table:
    """Every member: hyper-parameters, progress of its round, mean return, copies."""
    from longpass.agents import SPREAD

    columns = [name.replace("_", " ") for name in SPREAD]
    table = Table("member", *columns, "round", "episodes", "mean return", "copies")
    for column in table.columns:
        column.justify = "right"
    run = plan.run
    memory, block_every = run.agent.network.memory, run.agent.learner.block_every
    table.title = f"{run.title} · {memory} · block every {block_every}"
    table.caption = f"the highest possible return: {run.max_return():.3f}"
    for row in rows:
        now = running.get(row["member"])
        number, mean, done = row["rounds"], row["mean"], ""
        if now is not None:
            number += 1
            mean = now.scores[-1] if now.scores else None
            done = f"{min(now.fraction, 1.0) * plan.episodes:,.0f}"
        table.add_row(
            str(row["member"]),
            *(f"{row['hyper'][name]:.2g}" for name in SPREAD),
            f"{number} of {plan.rounds}",
            done or f"{row['episodes']:,}",
            "" if mean is None else f"{mean:.3f}",
            str(row["copies"]),
        )
    return table
