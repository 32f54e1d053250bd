"""`longpass export RUN`."""

import dataclasses
import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from rich.console import Console

from longpass._json import JsonObject
from longpass.cli._evaluate import show_episodes, write_interval
from longpass.cli._flags import write_flag, write_switch

if TYPE_CHECKING:
    from longpass.agents import RunSettings


@dataclasses.dataclass
class Export:
    """Write a trained agent as one file (safetensors), and a card about it beside it (Markdown).

    The file has the weights, the settings of the run and what the agent scores now. `longpass
    evaluate` and `longpass film --policy` take it in the place of a run's folder.

      longpass export runs/maze -o maze.safetensors
      longpass film t-maze --policy maze.safetensors
    """

    run_folder: tyro.conf.Positional[Path]
    """The run's folder, as `longpass train --out` made it."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("agent.safetensors")
    """The file to write."""
    episodes: int = 1000
    """Episodes of each kind to measure the score with."""
    seed: int = 1_000_000
    """Seed of these episodes."""
    half: bool = False
    """Store weights with 16 bits, for half the size; what is scored is the rounded network."""
    json: bool = False
    """Print one JSON object on standard output, and nothing else there."""

    def run(self, console: Console) -> JsonObject:
        from longpass import _checks
        from longpass.agents import (
            MOST_EPISODES,
            SavedAgent,
            load_state,
            measure_returns,
            round_weights,
            save_agent,
        )
        from longpass.records import provenance, write_atomically

        episodes = _checks.int_within("episodes", self.episodes, 1, MOST_EPISODES)
        _checks.seed("seed", self.seed)
        if self.out.suffix != ".safetensors":
            raise ValueError(f"out is {str(self.out)!r}: its name must end in .safetensors")
        page = self.out.with_suffix(".md")
        if page.exists() and not self.out.exists():
            raise ValueError(
                f"out is {str(self.out)!r}: {page} is there already, and its card would replace it"
            )
        run, state, warning = load_state(self.run_folder)
        network = state.weights.network
        if warning:
            console.print(f"longpass: {warning}", style="yellow", markup=False, highlight=False)
        if self.half:
            network = round_weights(network)
        begin, last = _read_ends(self.run_folder, int(state.updates))
        with show_episodes(console, episodes) as show:
            scores = measure_returns(run, network, episodes, self.seed, show)
        card: JsonObject = {
            "task": run.env,
            "memory": run.agent.network.memory,
            "scores": scores,
            "episodes": episodes,
            "return_max": run.max_return(),
            "command": _write_command(run, last["steps"]),
            "steps": last["steps"],
            "optimiser_steps": last["optimiser_steps"],
            "seed": run.seed,
            "exported": provenance()["commit"],
            **{name: begin.get(name) for name in ("version", "commit", "machine", "date")},
        }
        save_agent(self.out, SavedAgent(run, network, card), half=self.half)
        text = _write_page(self.out.stem, card)
        write_atomically(page, lambda file: file.write(text.encode()))
        mean = card["scores"]["sampled"]["mean"]
        size = self.out.stat().st_size / 1e3
        console.print(
            f"wrote {self.out} ({size:.0f} KB) and {page}: mean return {mean:.3f}",
            highlight=False,
            soft_wrap=True,
        )
        return {"command": "export", "file": str(self.out), "card": card}


def _read_ends(folder: Path, updates: int) -> tuple[JsonObject, JsonObject]:
    """(The first line of a run's records, the one that counts the steps of these updates)."""
    from longpass.records import RECORDS, Records

    lines = Records(folder / RECORDS).read()
    counted = [line for line in lines if "optimiser_steps" in line and line["updates"] == updates]
    if not counted:
        raise ValueError(
            f"RUN is {str(folder)!r}: its checkpoint is of update {updates}, and its records do "
            f"not count the steps of that; it must have been trained and saved"
        )
    return lines[0], counted[-1]


def _write_command(run: "RunSettings", steps: int) -> str:
    """The command that trains the agent again."""
    from longpass.agents import changed_settings

    words = ["longpass", "train"]
    if run.is_gymnasium:
        words += ["--gym", run.env]
        if run.params:
            words += ["--gym-kwargs", json.dumps(run.params)]
    else:
        words.append(run.env)
    for name, value in changed_settings(run).items():
        of_world = not run.is_gymnasium and hasattr(run.params, name)
        is_switch = of_world and isinstance(value, bool)
        words += write_switch(name, value) if is_switch else write_flag(name, value)
    return shlex.join([*words, "--seed", str(run.seed), "--steps", str(steps)])


def _write_page(name: str, card: JsonObject) -> str:
    """The card as a page."""
    most = card["return_max"]
    best = "not known" if most is None else f"{most:.3f}"
    exported = card["exported"]
    defaults = f"longpass {card['version']}" if exported is None else f"commit {exported}"
    rows = [
        f"| {kind} | {of['mean']:.3f} | {write_interval(of['low'], of['high'])} "
        f"| {of['worst']:.3f} |"
        for kind, of in card["scores"].items()
    ]
    return "\n".join(
        [
            f"# {name}",
            "",
            f"An agent with the memory `{card['memory']}`, trained on {card['task']} for "
            f"{card['steps']:,} steps of the environment ({card['optimiser_steps']:,} of the "
            f"optimiser), seed {card['seed']}.",
            "",
            f"| play | mean return | 95 % interval | worst of {card['episodes']:,} |",
            "|---|---:|---|---:|",
            *rows,
            "",
            f"The highest possible mean is {best}. To train it again, with the defaults of "
            f"{defaults}:",
            "",
            f"    {card['command']}",
            "",
            f"Trained on {card['date']} at commit {card['commit']}, with longpass "
            f"{card['version']} on {card['machine']}.",
            "",
        ]
    )
