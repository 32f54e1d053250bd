"""`longpass evaluate AGENT`."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator

import tyro
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from longpass._json import JsonObject
from longpass.cli._minutes import MinuteLines


@dataclasses.dataclass
class Evaluate:
    """Let a trained agent play complete episodes, greedily and as in training.

    Prints the mean return with a 95 % bootstrap interval, and the highest possible one. A single
    episode has no interval.
    """

    agent: tyro.conf.Positional[str]
    """The folder of a run (longpass train --out), a file (longpass export), or pretrained:NAME."""
    episodes: int = 200
    """Episodes of each kind."""
    seed: int = 1_000_000
    """Seed of the episodes."""
    json: bool = False
    """Print one JSON object on standard output, and nothing else there."""

    def run(self, console: Console) -> JsonObject:
        from longpass import _checks
        from longpass.agents import MOST_EPISODES, load_policy, measure_returns

        episodes = _checks.int_within("episodes", self.episodes, 1, MOST_EPISODES)
        _checks.seed("seed", self.seed)
        settings, network, warning = load_policy(self.agent, "AGENT")
        if warning:
            console.print(f"longpass: {warning}", style="yellow", markup=False, highlight=False)
        with show_episodes(console, episodes) as show:
            results = measure_returns(settings, network, episodes, self.seed, show)
        table = Table("play", "mean return", "95 % interval", "worst", "best")
        for kind, of in results.items():
            table.add_row(
                kind,
                f"{of['mean']:.3f}",
                write_interval(of["low"], of["high"]),
                f"{of['worst']:.3f}",
                f"{of['best']:.3f}",
            )
        highest = settings.max_return()
        if highest is not None:
            table.caption = f"{settings.env}: the highest possible mean is {highest:.3f}"
        console.print(table)
        return {
            "command": "evaluate",
            "run": self.agent,
            "task": settings.env,
            "episodes": episodes,
            "return_max": highest,
            **results,
        }


def write_interval(low: float | None, high: float | None) -> str:
    """An interval in words; nothing if there is none."""
    return "" if low is None or high is None else f"{low:.3f} to {high:.3f}"


@contextlib.contextmanager
def show_episodes(console: Console, episodes: int) -> Iterator[Callable[[str, int], None]]:
    """A context that gives a function to call with a kind of episodes and how many were played."""
    bar = Progress(
        TextColumn("{task.description} episodes"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )
    lines = MinuteLines(console)
    with bar:
        task = bar.add_task("", total=episodes)

        def show(kind: str, played: int) -> None:
            bar.update(task, description=kind, completed=played)
            lines.show(lambda: f"{played:,} of {episodes:,} {kind} episodes")

        yield show
