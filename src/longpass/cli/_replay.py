"""`longpass replay PATH...`."""

import dataclasses
from pathlib import Path

import tyro
from rich.console import Console
from rich.progress import track
from rich.table import Table

from longpass._json import JsonObject

_COLOURS = {"equal": "green", "skipped": "yellow", "different": "red", "unreadable": "red"}


@dataclasses.dataclass
class Replay:
    """Play recorded episodes on our environments and compare every frame with the record.

    Boards, discounts and ends must be equal, rewards to a millionth. Episodes in which a person
    quit, or with a limbo time that the original gets wrong (1 and 2), are skipped. The exit
    status is 1 if anything differs or cannot be read.
    """

    paths: tyro.conf.Positional[tuple[Path, ...]]
    """Files (.npz), or folders of them."""
    json: bool = False
    """Print one JSON object on standard output, and nothing else there."""

    def run(self, console: Console) -> JsonObject:
        from longpass import envs

        if not self.paths:
            raise ValueError("no paths given: name files (.npz) or folders of them")
        files = envs.find_episodes(list(self.paths))
        quiet = not console.is_terminal
        results = [
            envs.replay_episode(path)
            for path in track(files, "replaying", console=console, disable=quiet, transient=True)
        ]
        table = Table("file", "game", "steps", "result", "what")
        for result in results:
            table.add_row(
                Path(result.path).name,
                result.game,
                str(result.steps),
                f"[{_COLOURS[result.status]}]{result.status}[/]",
                result.detail or result.label,
            )
        console.print(table)
        counts = {status: sum(result.status == status for result in results) for status in _COLOURS}
        console.print(", ".join(f"{count} {status}" for status, count in counts.items()))
        for result in results:
            if not result.ok:
                console.print(
                    f"{result.path}: {result.detail}",
                    style="red",
                    markup=False,
                    highlight=False,
                    soft_wrap=True,
                )
        return {
            "command": "replay",
            "ok": all(result.ok for result in results),
            **counts,
            "episodes": [dataclasses.asdict(result) for result in results],
        }
