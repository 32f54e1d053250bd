"""`longpass train WORLD`."""

import contextlib
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.console import Console

from longpass._fields import Overrides, to_json
from longpass._json import JsonObject, parse_json
from longpass.agents import AgentSettings, default_words
from longpass.cli._factory import check_factory
from longpass.cli._flags import optional_flags
from longpass.cli._live import print_stopped
from longpass.cli._loggers import Logger, LoggerName, load_library, open_logger
from longpass.cli._panel import Panel
from longpass.cli._stopping import StopOnSignal
from longpass.cli._worlds import WorldParams, environment_of
from longpass.jobs import EngineName

if TYPE_CHECKING:
    from longpass.agents import Progress, RayImpala, RunSettings
    from longpass.records import RunFolder

AgentFlags = Annotated[Overrides, optional_flags(AgentSettings, default_words)]


@dataclasses.dataclass(kw_only=True)
class Train:
    """Train a recurrent actor-critic on a world (V-trace, as in IMPALA).

    The run's folder has its settings, records (JSONL) and checkpoints. Ctrl-C stops and saves;
    --resume continues, exactly as if the run had not been stopped. Flags that are not given are the
    defaults of the world. --paper takes the network as the paper has it.
    """

    task: WorldParams | None = None
    """What to learn. Every parameter can be set: longpass train t-maze --level 0."""
    gym: str | None = None
    """A Gymnasium environment with discrete actions instead, such as CartPole-v1."""
    gym_kwargs: str | None = None
    """Keyword arguments for gymnasium.make, as a JSON object: '{"map_name": "8x8"}'."""
    agent: AgentFlags
    paper: bool = False
    """The paper's own form: learned writer, plain embedding, no normalisation."""
    seed: int = 0
    """Seed of weights, environments and actions: equal seeds give equal runs."""
    steps: float = 1e7
    """Environment steps, over all copies."""
    out: Path = Path("runs/agent")
    """The run's folder; it is made if it is not there."""
    resume: bool = False
    """Continue the run in --out, up to --steps, or begin it if there is none. Without a task, all
    its settings are taken from the folder; with one, flags must be those that it was begun with."""
    engine: EngineName = "local"
    """Where it acts: here, in the program that learns, or on a Ray cluster."""
    actors: int | None = None
    """For --engine ray: processes that act, each with its own --envs copies; by default one per
    CPU of the cluster."""
    address: str | None = None
    """For --engine ray: the cluster to join, auto for the one that runs on this machine; without
    it, one is started here for the training."""
    save_minutes: float = 3.0
    """Minutes between checkpoints."""
    log: LoggerName | None = None
    """Also send progress to TensorBoard (files in the run's folder), trackio or Weights & Biases;
    each is an extra of its own, such as longpass[tensorboard]."""
    json: bool = False
    """Print one JSON object on standard output, and nothing else there."""

    def run(self, console: Console) -> JsonObject:
        from longpass import _checks

        _checks.real("save_minutes", self.save_minutes, above=0.0)
        _checks.real("steps", self.steps, above=0.0)
        settings = self.settings()
        # Ray starts before JAX is used.
        with self._trainer(settings) as trainer:
            network = settings.agent.network
            check_factory(console, network.memory, network.memory_options)
            return self._train(console, settings, trainer)

    def _train(
        self, console: Console, settings: "RunSettings", trainer: "RayImpala | None"
    ) -> JsonObject:
        from longpass.agents import train_agent

        if self.log is not None:
            load_library(self.log)  # before the folder is made
        loggers: list[Logger] = []
        opened = contextlib.ExitStack()

        def prepare(folder: "RunFolder") -> None:
            if self.log is not None:
                loggers.append(
                    opened.enter_context(open_logger(self.log, self.out, to_json(settings)))
                )
            if folder.warning:
                console.print(
                    f"longpass: {folder.warning}", style="yellow", markup=False, highlight=False
                )

        with opened, Panel(console, settings, self.steps) as panel, StopOnSignal() as stop:

            def show(progress: "Progress") -> None:
                panel.show(progress)
                numbers = {
                    name: value
                    for name, value in progress.line().items()
                    if isinstance(value, int | float)
                }
                for logger in loggers:
                    logger.log(numbers, progress.steps)

            progress = train_agent(
                settings,
                self.out,
                self.steps,
                resume=self.resume,
                trainer=trainer,
                on_begin=prepare,
                on_progress=show,
                stop=stop,
                save_seconds=60.0 * self.save_minutes,
            )
        if stop():
            print_stopped(console, "--resume")
            raise KeyboardInterrupt
        result = {
            "command": "train",
            "task": settings.env,
            "memory": settings.agent.network.memory,
            "return_mean": progress.mean_return(),
            "return_max": settings.max_return(),
            "episodes": progress.episodes,
            "steps": progress.steps,
            "seconds": round(progress.seconds, 3),
            "updates": progress.updates,
            "seed": settings.seed,
            "out": str(self.out),
        }
        console.print(_summarise(result, len(progress.scores)), highlight=False, soft_wrap=True)
        return result

    def _trainer(
        self, settings: "RunSettings"
    ) -> "contextlib.AbstractContextManager[RayImpala | None]":
        """The trainer on a Ray cluster; None for the one on this machine."""
        if self.engine == "ray":
            from longpass.agents import RayImpala

            return RayImpala(settings, self.actors, self.address)
        for name in ("actors", "address"):
            if (value := getattr(self, name)) is not None:
                raise ValueError(
                    f"{name} is {value!r}: it must be left out for the engine {self.engine!r}"
                )
        return contextlib.nullcontext()

    def settings(self) -> "RunSettings":
        """The run that these flags ask for."""
        from longpass.agents import load_settings, resolve_settings

        if self.resume and self.task is None and self.gym is None:
            if self.agent or self.paper or self.seed or self.gym_kwargs:
                raise ValueError(
                    "--resume without a task takes all settings of the agent from the run: leave "
                    "their flags out, or name the task too"
                )
            return load_settings(self.out, "out")
        if (self.task is None) == (self.gym is None):
            from longpass.envs import names

            both = ", not both" if self.task is not None else ""
            raise ValueError(f"name a task ({', '.join(names())}) or a --gym{both}")
        if self.gym_kwargs is not None and self.gym is None:
            raise ValueError(
                f"gym_kwargs is {self.gym_kwargs!r}: it must be left out without --gym"
            )
        env, params = self.gym, self._parse_kwargs()
        if self.task is not None:
            env, params = environment_of(self.task).name, self.task
        assert env is not None
        return resolve_settings(env, params, self.agent, paper=self.paper, seed=self.seed)

    def _parse_kwargs(self) -> JsonObject:
        """The keyword arguments of the Gymnasium environment."""
        try:
            return parse_json(self.gym_kwargs or "{}")
        except ValueError as error:
            raise ValueError(
                f"gym_kwargs is {self.gym_kwargs!r}: it must be a JSON object ({error})"
            ) from None


def _summarise(result: JsonObject, episodes: int) -> str:
    mean, best = result["return_mean"], result["return_max"]
    shown = "no episode has ended"
    if mean is not None:
        of = "" if best is None else f" of {best:.3f}"
        shown = f"mean return {mean:.3f}{of} over the last {episodes:,} episodes"
    return (
        f"{result['task']}: {shown}; {result['steps']:,} steps, {result['seconds']:.0f} s, "
        f"in {result['out']}"
    )
