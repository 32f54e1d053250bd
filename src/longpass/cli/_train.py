"""`longpass train TASK`."""

import contextlib
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from longpass._names import EngineName
from longpass._settings import AgentFields
from longpass.cli._panel import Panel
from longpass.cli._stopping import stopping
from longpass.cli._worlds import WorldParams, environment_of, recorded_params

if TYPE_CHECKING:
    from longpass.agents import Config, Run


@dataclasses.dataclass
class Train:
    """Train a recurrent actor-critic on a task (V-trace, as in IMPALA).

    Leaves a folder with settings, records (JSONL) and checkpoints. Ctrl-C stops and saves;
    --resume goes on, exactly as if nothing had happened. Flags that are not given are the task's
    defaults; docs/agents.md has the table. --paper takes the network as the paper has it.
    """

    task: WorldParams | None = None
    """What to learn. Every parameter can be set: longpass train t-maze --level 0."""
    gym: str | None = None
    """A Gymnasium environment with discrete actions instead, such as CartPole-v1."""
    agent: AgentFields = dataclasses.field(default_factory=AgentFields)
    steps: float = 1e7
    """Environment steps, over all copies."""
    out: Path = Path("runs/agent")
    """The run's folder; it is made if it is not there."""
    resume: bool = False
    """Go on with the run in --out, up to --steps. Without a task, all its settings are taken from
    there; with one, flags must be those that it was begun with."""
    engine: EngineName = "local"
    """Where it acts: here, in the program that learns, or on a Ray cluster."""
    actors: int | None = None
    """For --engine ray: processes that act, each with its own --envs copies; by default one a core
    of the cluster."""
    address: str | None = None
    """For --engine ray: the cluster to join, auto for the one that runs on this machine; without
    it, one is started here for the training."""
    save_minutes: float = 3.0
    """A checkpoint every so many minutes."""
    tensorboard: bool = False
    """Write TensorBoard's files into the run's folder too (needs longpass[tensorboard])."""
    json: bool = False
    """Print one JSON object on standard output, and nothing else there."""

    def run(self, console: Console) -> dict[str, Any]:
        from longpass import _checks

        _checks.real("save_minutes", self.save_minutes, above=0.0)
        _checks.real("steps", self.steps, above=0.0)
        config = self.config()
        # Ray starts before JAX is used.
        with self._trainer(config) as trainer:
            return self._train(console, config, trainer)

    def _train(self, console: Console, config: "Config", trainer: Any) -> dict[str, Any]:
        from longpass.agents import Run

        board = _tensorboard(self.out) if self.tensorboard else None
        run = Run(config, self.out, resume=self.resume, trainer=trainer)
        for note in filter(None, [run.warning]):
            console.print(f"longpass: {note}", style="yellow", markup=False, highlight=False)
        with Panel(console, config, self.steps) as panel, stopping() as stop:

            def watch(progress: Any) -> None:
                panel.show(progress)
                if board is not None:
                    _write_board(board, progress)

            progress = run.train(self.steps, watch, stop, 60.0 * self.save_minutes)
        if stop():
            how = f"stopped: longpass train --resume --out {self.out} goes on"
            console.print(how, highlight=False, soft_wrap=True)
            raise KeyboardInterrupt
        result = self._result(run, config)
        console.print(_summary(result, len(progress.scores)), highlight=False, soft_wrap=True)
        return result

    def _trainer(self, config: "Config") -> contextlib.AbstractContextManager[Any]:
        """What trains, None for what does so on this machine."""
        if self.engine == "ray":
            from longpass.agents import RayImpala

            return RayImpala(config, self.actors, self.address)
        for name in ("actors", "address"):
            if (value := getattr(self, name)) is not None:
                raise ValueError(f"{name} is {value!r}: only the engine 'ray' has that")
        return contextlib.nullcontext()

    def _result(self, run: "Run", config: "Config") -> dict[str, Any]:
        progress = run.progress
        return {
            "command": "train",
            "task": config.task,
            "memory": config.network["family"],
            "return_mean": progress.mean(),
            "return_max": config.best(),
            "episodes": progress.episodes,
            "steps": progress.steps,
            "seconds": round(progress.seconds, 3),
            "updates": progress.updates,
            "seed": config.seed,
            "out": str(self.out),
        }

    def config(self) -> "Config":
        """What these flags ask for, complete."""
        from longpass.agents import Config, configure

        if self.resume and self.task is None and self.gym is None:
            if self.agent != AgentFields():
                raise ValueError(
                    "--resume without a task takes every setting of the agent from the run: leave "
                    "their flags out, or name the task too"
                )
            return Config.load(self.out)
        if (self.task is None) == (self.gym is None):
            from longpass.envs import names

            raise ValueError(f"name a task ({', '.join(names())}) or a --gym, not both")
        if self.gym is not None:
            config = configure(self.gym, {}, self.agent)
        else:
            assert self.task is not None
            task = environment_of(self.task).name.replace("-", "_")
            config = configure(task, recorded_params(self.task), self.agent)
        calls = -(-int(self.steps) // config.settings.steps)
        return dataclasses.replace(config, dispatch=max(1, min(config.dispatch, calls)))


def _summary(result: dict[str, Any], episodes: int) -> str:
    mean, best = result["return_mean"], result["return_max"]
    shown = "no episode has ended"
    if mean is not None:
        of = "" if best is None else f" of {best:.3f}"
        shown = f"mean return {mean:.3f}{of} over the last {episodes:,} episodes"
    return (
        f"{result['task']}: {shown}; {result['steps']:,} steps, {result['seconds']:.0f} s, "
        f"in {result['out']}"
    )


def _tensorboard(out: Path) -> Any:
    try:
        from tensorboardX import SummaryWriter
    except ImportError:
        raise ValueError(
            "--tensorboard needs tensorboardX: pip install 'longpass[tensorboard]'"
        ) from None
    return SummaryWriter(str(out / "tensorboard"))


def _write_board(board: Any, progress: Any) -> None:
    for name, value in progress.record().items():
        if value is not None:
            board.add_scalar(name, value, progress.steps)
    board.flush()
