"""The progress of a training: a live panel on a terminal, a line per minute on a pipe."""

import time
from typing import TYPE_CHECKING

from rich.console import Console, RenderableType
from rich.live import Live
from rich.panel import Panel as Box
from rich.progress_bar import ProgressBar
from rich.table import Table

from longpass.cli._minutes import MinuteLines

if TYPE_CHECKING:
    from longpass.agents import Progress, RunSettings


class Panel:
    """Shows progress while it is entered."""

    def __init__(self, console: Console, settings: "RunSettings", steps: float):
        self._settings, self._steps = settings, steps
        self._best = settings.max_return()
        self._live = Live(console=console, auto_refresh=False) if console.is_terminal else None
        self._lines = MinuteLines(console)
        self._first: tuple[float, int] | None = None

    def __enter__(self) -> "Panel":
        if self._live:
            self._live.start()
            title = "compiling"
            self._live.update(Box(title, title=self._title()), refresh=True)
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def show(self, progress: "Progress") -> None:
        """Draw this progress."""
        if self._live:
            self._live.update(Box(self._table(progress), title=self._title()), refresh=True)
        self._lines.show(lambda: self._describe(progress))

    def _describe(self, progress: "Progress") -> str:
        return (
            f"{progress.steps:,} of {self._steps:,.0f} steps, {progress.episodes:,} episodes, "
            f"return of the last 100: {self._score(progress.mean_return(100))}"
        )

    def _title(self) -> str:
        settings, agent = self._settings, self._settings.agent
        block = f"block every {agent.learner.block_every}"
        return f"{settings.title} · {agent.network.memory} · {block} · seed {settings.seed}"

    def _rate(self, progress: "Progress") -> float | None:
        """Steps per second since the first call, which had to be compiled."""
        now = time.monotonic()
        if self._first is None:
            self._first = (now, progress.steps)
            return None
        then, steps = self._first
        return (progress.steps - steps) / max(now - then, 1e-9)

    def _table(self, progress: "Progress") -> Table:
        rate = self._rate(progress)
        left = "" if not rate else _clock(max(0.0, self._steps - progress.steps) / rate)
        metrics = progress.metrics
        rows: list[tuple[str, RenderableType]] = [
            ("", ProgressBar(self._steps, min(progress.steps, self._steps), width=40)),
            ("steps", f"{progress.steps:,} of {self._steps:,.0f}"),
            ("episodes", f"{progress.episodes:,}"),
            ("steps per second", "" if rate is None else f"{rate:,.0f}"),
            ("return, last 100", self._score(progress.mean_return(100))),
            ("return, last 3,000", self._score(progress.mean_return())),
            ("entropy", f"{metrics['entropy']:.3f}"),
            ("policy loss", f"{metrics['policy_loss']:+.5f}"),
            ("baseline loss", f"{metrics['baseline_loss']:.5f}"),
            ("gradient norm", f"{metrics['gradient_norm']:.4f}"),
            ("time left", left),
        ]
        if "lag" in metrics:
            lag = f"{metrics['lag']:.1f} updates, at most {metrics['lag_most']:.0f}"
            rows.insert(-1, ("lag", f"{lag}; {metrics['actors']:.0f} actors"))
        table = Table.grid(padding=(0, 2))
        table.add_column(justify="right", style="dim")
        table.add_column()
        for row in rows:
            table.add_row(*row)
        return table

    def _score(self, mean: float | None) -> str:
        best = "" if self._best is None else f" of {self._best:.3f}"
        return "none yet" if mean is None else f"{mean:.3f}{best}"


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
