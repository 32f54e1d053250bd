"""`longpass evaluate RUN`."""

import dataclasses
from pathlib import Path

import tyro
from rich.console import Console
from rich.table import Table

from longpass._json import JsonObject


@dataclasses.dataclass
class Evaluate:
    """Let a trained agent play complete episodes, greedily and as in training.

    Prints the mean return with a 95 % bootstrap interval, and the highest possible one.
    """

    run_folder: tyro.conf.Positional[Path]
    """The run's folder, as `longpass train --out` made it."""
    episodes: int = 200
    """Episodes of each kind."""
    seed: int = 1_000_000
    """Seed of the episodes."""
    json: bool = False
    """Print one JSON object on standard output, and nothing else there."""

    def run(self, console: Console) -> JsonObject:
        import jax

        from longpass import _checks
        from longpass.agents import bootstrap_interval, episode_scores, load_network

        episodes = _checks.positive_int("episodes", self.episodes)
        settings, network, warning = load_network(self.run_folder)
        if warning:
            console.print(f"longpass: {warning}", style="yellow", markup=False, highlight=False)
        table = Table("play", "mean return", "95 % interval", "worst", "best")
        results: JsonObject = {}
        for kind in ("greedy", "sampled"):
            scores = episode_scores(
                settings, network, episodes, jax.random.key(self.seed), greedy=kind == "greedy"
            )
            low, high = bootstrap_interval(scores)
            results[kind] = {"mean": float(scores.mean()), "low": low, "high": high}
            results[kind] |= {"worst": float(scores.min()), "best": float(scores.max())}
            shown = (f"{results[kind][name]:.3f}" for name in ("mean", "worst", "best"))
            mean, worst, best = shown
            table.add_row(kind, mean, f"{low:.3f} to {high:.3f}", worst, best)
        highest = settings.max_return()
        if highest is not None:
            table.caption = f"{settings.env}: the highest possible mean is {highest:.3f}"
        console.print(table)
        return {
            "command": "evaluate",
            "run": str(self.run_folder),
            "task": settings.env,
            "episodes": episodes,
            "return_max": highest,
            **results,
        }
