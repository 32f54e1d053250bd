"""`longpass train TASK`."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rich.console import Console

from longpass.cli._panel import Panel
from longpass.cli._stopping import stopping
from longpass.cli._tasks import Task, environment

if TYPE_CHECKING:
    from longpass.learners import Config, Preset, Run


@dataclasses.dataclass
class Train:
    """Train a recurrent actor-critic on a task (V-trace, as in IMPALA).

    Leaves a folder with settings, records (JSONL) and checkpoints. Ctrl-C stops and saves;
    --resume goes on, exactly as if nothing had happened. Flags that are not given are the task's
    preset; docs/agents.md has the table. --paper takes the network as the paper has it.
    """

    task: Task | None = None
    """What to learn. Every parameter can be set: longpass train t-maze --level 0."""
    gym: str | None = None
    """A Gymnasium environment with discrete actions instead, such as CartPole-v1."""
    memory: Literal["chain", "parallel", "lstm", "gru"] = "chain"
    """What remembers."""
    block_every: int = 20
    """Gradients through the memory's state are stopped every so many steps."""
    steps: float = 1e7
    """Environment steps, over all copies."""
    seed: int = 0
    """Seed of everything: equal seeds, equal runs."""
    out: Path = Path("runs/agent")
    """The run's folder; it is made if it is not there."""
    resume: bool = False
    """Go on with the run in --out, with the flags that it was begun with (--steps may differ)."""
    paper: bool = False
    """The paper's own form: learned writer, plain embedding, no normalisation."""
    writer: Literal["learned", "frozen", "slow"] | None = None
    """How the torso and the pools' input matrix learn: with the rest (the paper), not at all, or
    as an exponential average of what is learned."""
    embedding: Literal["plain", "sparse"] | None = None
    """How the embedding starts: plain (the paper), or sparse on a sample of frames."""
    normalise: Literal["none", "layer"] | None = None
    """Pools before their viewports: as they are (the paper), or on one scale."""
    logit_scale: float | None = None
    """Size of the policy's first weights."""
    pools: int | None = None
    """How many pools; by default the fewest that reach the task's delay."""
    pool_size: int = 198
    viewport_size: int = 32
    summary_size: int = 128
    size: int = 128
    """Units of an LSTM or GRU."""
    envs: int = 32
    """Copies of the environment."""
    rollout: int = 300
    """Steps of each copy between updates."""
    slices: int | None = None
    """Steps of the optimiser a rollout; by default the preset's, if block_every fits into each."""
    horizon: int | None = None
    """How far V-trace looks ahead; by default to the end of the slice."""
    lag: int = 0
    """Act with the weights of so many updates ago."""
    optimiser: Literal["adam", "rmsprop"] = "adam"
    learning_rate: float | None = None
    entropy_cost: float | None = None
    discount: float | None = None
    epsilon: float | None = None
    clip_norm: float | None = None
    slow_rate: float = 0.001
    """For --writer slow: the share of the learned weights taken over at each step."""
    dispatch: int = 10
    """Updates in one compiled call, and for one record."""
    save_minutes: float = 3.0
    """A checkpoint every so many minutes."""
    tensorboard: bool = False
    """Write TensorBoard's files into the run's folder too (needs longpass[tensorboard])."""
    json: bool = False
    """Print one JSON object on standard output, and nothing else there."""

    def run(self, console: Console) -> dict[str, Any]:
        from longpass import _checks
        from longpass.learners import Run

        _checks.real("save_minutes", self.save_minutes, above=0.0)
        _checks.real("steps", self.steps, above=0.0)
        config = self.config()
        board = _tensorboard(self.out) if self.tensorboard else None
        run = Run(config, self.out, resume=self.resume)
        for note in filter(None, [run.warning]):
            console.print(f"longpass: {note}", style="yellow", markup=False, highlight=False)
        with Panel(console, config, self.steps) as panel, stopping() as stop:

            def watch(progress: Any) -> None:
                panel.show(progress)
                if board is not None:
                    _write_board(board, progress)

            progress = run.train(self.steps, watch, stop, 60.0 * self.save_minutes)
        if stop():
            console.print(f"stopped; --resume --out {self.out} goes on", highlight=False)
            raise KeyboardInterrupt
        result = self._result(run, config)
        console.print(_summary(result, len(progress.scores)), highlight=False, soft_wrap=True)
        return result

    def _result(self, run: "Run", config: "Config") -> dict[str, Any]:
        progress = run.progress
        return {
            "command": "train",
            "task": config.task,
            "memory": self.memory,
            "return_mean": progress.mean(),
            "return_max": config.best(),
            "episodes": progress.episodes,
            "steps": progress.steps,
            "seconds": round(progress.seconds, 3),
            "updates": progress.updates,
            "seed": self.seed,
            "out": str(self.out),
        }

    def config(self) -> "Config":
        """What these flags ask for, complete."""
        from longpass.learners import OTHER, PRESETS, Config, Settings, slices_for
        from longpass.theory import pools_for

        if (self.task is None) == (self.gym is None):
            raise ValueError(
                "name a task (cued-catch, t-maze, sequence-recall) or a --gym, not both"
            )
        if self.gym is not None:
            name, params, preset, values = self.gym, None, OTHER, {}
        else:
            env, params = environment(self.task)
            name, preset, values = env.name, PRESETS[env.name], dataclasses.asdict(self.task)  # pyright: ignore[reportArgumentType]
        slices = self.slices or slices_for(self.rollout, self.block_every, preset.slices)
        settings = Settings(
            envs=self.envs,
            rollout=self.rollout,
            slices=slices,
            block_every=self.block_every,
            horizon=self.horizon,
            lag=self.lag,
            optimiser=self.optimiser,
            slow_rate=self.slow_rate,
        )
        network = {
            "family": self.memory,
            "pools": self.pools or pools_for(float(preset.delay(params)), 2.0),
            "pool_size": self.pool_size,
            "viewport_size": self.viewport_size,
            "summary_size": self.summary_size,
            "size": self.size,
            **self._form(),
            "logit_scale": _given(self.logit_scale, preset.logit_scale),
        }
        dispatch = min(self.dispatch, max(1, -(-int(self.steps) // settings.steps)))
        return Config(name, values, network, self._hyper(preset), settings, self.seed, dispatch)

    def _form(self) -> dict[str, Any]:
        """Writer, embedding and normalisation."""
        from longpass.learners import PAPER, conditioning

        plain = self.paper or self.gym is not None
        form = dict(PAPER) if plain else conditioning(self.memory)
        given = {name: getattr(self, name) for name in form}
        return form | {name: value for name, value in given.items() if value is not None}

    def _hyper(self, preset: "Preset") -> dict[str, float]:
        names = ("learning_rate", "entropy_cost", "discount", "epsilon", "clip_norm")
        return {name: _given(getattr(self, name), getattr(preset, name)) for name in names}


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


def _given(value: Any, otherwise: Any) -> Any:
    return otherwise if value is None else value


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
