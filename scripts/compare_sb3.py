"""Compare `Concrete` with the LSTM of sb3-contrib inside RecurrentPPO, on tasks of long delay.

Both cores train the agent of examples/torch/sb3_ppo.py with the same settings and seeds, while
gradients reach back 16 steps. One JSON line per agent is appended to a file, and agents that are in
it are not trained again:

    python scripts/compare_sb3.py --out results/sb3.jsonl
    python scripts/compare_sb3.py --out results/sb3.jsonl --task t-maze --steps 2000000
"""

import dataclasses
import itertools
import runpy
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Literal

import gymnasium
import tyro

from longpass.records import Records, provenance

FOLDER = Path(__file__).parent.parent / "examples" / "torch"
CORES = ("concrete", "lstm")


@dataclasses.dataclass
class Compare:
    """Train agents with both cores."""

    out: Path
    """The file of records."""
    task: Literal["recall", "t-maze"] = "recall"
    """Name a cue after a delay; or our T-maze without walls to learn, with a delay on the way."""
    delay: int = 60
    """Steps of the delay."""
    steps: int = 200_000
    """Steps of the environment per agent."""
    seeds: int = 3
    """Agents per core."""


def make_env(compare: Compare) -> Callable[[], gymnasium.Env]:
    """A function that makes one copy of the task."""
    if compare.task == "recall":
        recall = runpy.run_path(str(FOLDER / "recall_env.py"))["Recall"]
        return lambda: recall(compare.delay)
    name = "longpass.envs.gym:longpass/TMaze-v0"
    return lambda: gymnasium.make(name, level=0, limbo_time=compare.delay)


def main() -> None:
    compare = tyro.cli(Compare)
    sys.path.insert(0, str(FOLDER))
    train = runpy.run_path(str(FOLDER / "sb3_ppo.py"))["train"]
    records = Records(compare.out)
    settings = {name: getattr(compare, name) for name in ("task", "delay", "steps")}
    for seed, core in itertools.product(range(compare.seeds), CORES):
        wanted = settings | {"core": core, "seed": seed}
        if any(wanted.items() <= record.items() for record in records.read()):
            continue
        curve: list[tuple[int, float]] = []
        begin = time.perf_counter()
        last = train(
            core,
            make_env(compare),
            compare.steps,
            seed,
            lambda step, mean, curve=curve: curve.append((step, round(mean, 4))),
        )
        seconds = time.perf_counter() - begin
        thinned = curve[:: max(1, len(curve) // 100)]
        result = {"return": last, "curve": thinned, "seconds": round(seconds, 1)}
        versions = {name: version(name) for name in ("torch", "sb3-contrib")}
        records.append([wanted | result | versions | provenance()])
        print(f"{compare.task}, {core}, seed {seed}: {last:.3f} in {seconds:.0f} s")


if __name__ == "__main__":
    main()
