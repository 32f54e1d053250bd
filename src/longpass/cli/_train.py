"""`longpass train WORLD`."""

import contextlib
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.console import Console

from longpass._fields import Overrides
from longpass._json import JsonObject
from longpass.agents import AgentSettings, default_words
from longpass.cli._flags import optional_flags
from longpass.cli._panel import Panel
from longpass.cli._stopping import StopOnSignal
from longpass.cli._worlds import WorldParams, environment_of
from longpass.jobs import EngineName

if TYPE_CHECKING:
    from tensorboardX import SummaryWriter

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
    tensorboard: bool = False
    """Also write TensorBoard files into the run's folder (needs longpass[tensorboard])."""
    json: bool = False
    """Print one JSON object on standard output, and nothing else there."""

    def run(self, console: Console) -> JsonObject:
        from longpass import _checks

        _checks.real("save_minutes", self.save_minutes, above=0.0)
        _checks.real("steps", self.steps, above=0.0)
        settings = self.settings()
        # Ray starts before JAX is used.
        with self._trainer(settings) as trainer:
            return self._train(console, settings, trainer)

    def _train(
        self, console: Console, settings: "RunSettings", trainer: "RayImpala | None"
    ) -> JsonObject:
        from longpass.agents import train_agent

        boards: list[SummaryWriter] = []

        def prepare(folder: "RunFolder") -> None:
            if self.tensorboard:
                boards.append(_open_board(self.out))
            if folder.warning:
                console.print(
                    f"longpass: {folder.warning}", style="yellow", markup=False, highlight=False
                )

        with Panel(console, settings, self.steps) as panel, StopOnSignal() as stop:

            def show(progress: "Progress") -> None:
                panel.show(progress)
                for board in boards:
                    _write_board(board, progress)

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
            command = f"longpass train --resume --out {self.out} --steps {self.steps:g}"
            console.print(f"stopped: {command} continues", highlight=False, soft_wrap=True)
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
            if self.agent or self.paper or self.seed:
                raise ValueError(
                    "--resume without a task takes all settings of the agent from the run: leave "
                    "their flags out, or name the task too"
                )
            return load_settings(self.out)
        if (self.task is None) == (self.gym is None):
            from longpass.envs import names

            raise ValueError(f"name a task ({', '.join(names())}) or a --gym, not both")
        env = self.gym if self.task is None else environment_of(self.task).name
        assert env is not None
        return resolve_settings(env, self.task, self.agent, paper=self.paper, seed=self.seed)


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


def _open_board(out: Path) -> "SummaryWriter":
    try:
        from tensorboardX import SummaryWriter
    except ImportError:
        raise ValueError(
            "--tensorboard needs tensorboardX: pip install 'longpass[tensorboard]'"
        ) from None
    return SummaryWriter(str(out / "tensorboard"))


def _write_board(board: "SummaryWriter", progress: "Progress") -> None:
    for name, value in progress.line().items():
        if isinstance(value, int | float):
            board.add_scalar(name, value, progress.steps)
    board.flush()
