"""`longpass reproduce`."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from rich.console import Console
from rich.progress import track
from rich.table import Table

from longpass._fields import Preset
from longpass._json import JsonObject
from longpass.agents import AgentStudy
from longpass.cli._figure import FigureName, FigureOfAgents
from longpass.cli._film import Film
from longpass.cli._pbt import train_populations
from longpass.cli._sweep import run_sweep
from longpass.cli._worlds import changed_params

if TYPE_CHECKING:
    from longpass.agents import Population


@dataclasses.dataclass
class Reproduce:
    """Reproduce the paper: train the memories, print who learned what, draw figures, and film
    a trained agent.

    quick: two markers at truncations 2, 16 and 128 with good settings, three seeds; Cued Catch,
    chain against LSTM, gradients blocked every 3 steps, one seed: minutes. laptop: all three
    streams and eight truncations, 20 random settings each, a quarter of the paper's symbols or
    less; all three worlds, single agents, three seeds: hours. paper: its 27,000 runs, and five
    populations of nine for each curve: weeks. Records are kept in OUT/PRESET, those of agents in
    OUT/agents-quick or OUT/agents; the same command continues a preset that was stopped.
    """

    preset: Preset = "quick"
    """How much of the paper's sweep to run."""
    only: FigureName | AgentStudy | None = None
    """One figure, for which nothing is trained unless it is truncation or batch-size; or the agents
    of one world, or of the question from which difficulty on the LSTM learns, and their figure."""
    out: Path = Path("results")
    """The folder for records and, in its folder figures, pictures."""
    workers: int | None = None
    """Processes that train; by default one per core."""
    json: bool = False
    """Print one JSON object on standard output, and nothing else there."""

    def run(self, console: Console) -> JsonObject:
        from longpass import figures

        result: JsonObject = {"command": "reproduce", "preset": self.preset}
        if self.only is None or self.only in figures.FROM_RECORDS:
            result["runs"] = self._classify(console)
        if self._studies():
            result["agents"] = self._agents(console)
        result["figures"] = self._draw(console)
        if self.only is None:
            result["film"] = self._film(console)
        trained = [result[part] for part in ("runs", "agents") if part in result]
        return result | {"ok": all(part["ok"] for part in trained)}

    def _studies(self) -> "tuple[AgentStudy, ...]":
        """Which agents are trained."""
        if self.only is None:
            return ("cued-catch",) if self.preset == "quick" else get_args(AgentStudy)
        return (self.only,) if self.only in get_args(AgentStudy) else ()  # pyright: ignore[reportReturnType]

    def _agents_folder(self) -> Path:
        """Where records of agents are: those of quick apart, all others together."""
        return self.out / ("agents-quick" if self.preset == "quick" else "agents")

    def _classify(self, console: Console) -> JsonObject:
        from longpass.jobs import LocalEngine
        from longpass.streams import Sweep, sweep_preset, train_group

        engine = LocalEngine(train_group, self.workers)
        sweep = Sweep(sweep_preset(self.preset), self.out / self.preset)
        return run_sweep(sweep, engine, console)

    def _agents(self, console: Console) -> JsonObject:
        from longpass.agents import Population, make_agent_preset, train_round
        from longpass.jobs import LocalEngine

        plans = {
            name: plan
            for study in self._studies()
            for name, plan in make_agent_preset(self.preset, study).items()
        }
        folder = self._agents_folder()
        populations = [Population(plan, folder / name, resume=True) for name, plan in plans.items()]
        engine = LocalEngine(train_round, self.workers)
        result = train_populations(populations, engine, console)
        cells = _cells(populations)
        console.print(_table(cells))
        return result | {"cells": cells}

    def _draw(self, console: Console) -> dict[str, list[str]]:
        from longpass import figures

        # The figures of a preset stand beside those of the others.
        suffix = "" if self.preset == "laptop" else f"-{self.preset}"
        drawn = {}
        quiet = not console.is_terminal
        names = self._figures()
        for name in track(names, "drawing", console=console, disable=quiet, transient=True):
            of_agents = name in figures.FROM_AGENTS
            records = self._agents_folder() if of_agents else None
            if name in figures.FROM_RECORDS:
                records = self.out / self.preset
            # All presets but quick add to one collection of agents.
            ending = "" if of_agents and self.preset == "paper" else suffix
            files = figures.draw(name, self.out / "figures", records, ending)
            drawn[name] = [str(path) for path in files]
        table = Table("figure", "files")
        for name, files in drawn.items():
            table.add_row(name, "\n".join(files))
        console.print(table)
        return drawn

    def _film(self, console: Console) -> JsonObject:
        """Film an agent that comes with longpass, with its memory beside it."""
        from longpass.envs import TMazeParams

        path = self.out / "figures" / "t-maze-chain.gif"
        return Film(TMazeParams(), policy="pretrained:t-maze-chain", out=path).run(console)

    def _figures(self) -> list[str]:
        """Which figures are drawn."""
        if self.only in get_args(FigureName):
            return [str(self.only)]
        if self.only is not None:
            return ["lstm-onset"] if self.only == "lstm-onset" else ["rl", "rl-raw"]
        names = [*get_args(FigureName), *get_args(FigureOfAgents)]
        # The quick runs have one batch size only, and no LSTM over 300 steps.
        left_out = ("batch-size", "lstm-onset") if self.preset == "quick" else ()
        return [name for name in names if name not in left_out]


def _cells(populations: "list[Population]") -> list[JsonObject]:
    """The mean return of each task, memory, `block_every` and difficulty."""
    from longpass.agents import TOP

    cells: dict[tuple[str, str, int, str], list[float]] = {}
    best: dict[tuple[str, str, int, str], float | None] = {}
    for population in populations:
        run = population.plan.run
        memory, block_every = run.agent.network.memory, run.agent.learner.block_every
        special = ", ".join(f"{name} {value}" for name, value in changed_params(run.params).items())
        key = (run.env, memory, block_every, special)
        best[key] = run.max_return()
        means = sorted(row["mean"] for row in population.summary() if row["mean"] is not None)
        if means:
            top = means[-TOP:]
            cells.setdefault(key, []).append(sum(top) / len(top))
    return [
        {
            "task": task,
            "memory": memory,
            "block_every": block,
            "setting": special,
            "runs": len(means),
            "return_mean": sum(means) / len(means),
            "return_max": best[task, memory, block, special],
        }
        for (task, memory, block, special), means in cells.items()
    ]


def _table(cells: list[JsonObject]) -> Table:
    table = Table("task", "memory", "block every", "setting", "runs", "mean return", "highest")
    table.caption = "mean return of the last 3,000 episodes; of populations, their top three"
    for cell in cells:
        table.add_row(
            cell["task"],
            cell["memory"],
            str(cell["block_every"]),
            cell["setting"],
            str(cell["runs"]),
            f"{cell['return_mean']:.3f}",
            f"{cell['return_max']:.3f}",
        )
    return table
