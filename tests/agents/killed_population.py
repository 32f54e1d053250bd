"""Kill a population of made-up rounds again and again, in a process of its own."""

import json
import os
import random
import signal
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from longpass.agents import AgentSettings, Config, Members, Population, run_populations
from longpass.jobs import JobProgress

CONFIG = Config("cued_catch", {}, {"family": "lstm", "size": 4}, {}, AgentSettings(), seed=5)
CONFIG = Config(
    **{**CONFIG.__dict__, "hyper": {"learning_rate": 1.0, "entropy_cost": 1.0, "epsilon": 1.0}}
)
PLAN = Members(config=CONFIG, members=4, rounds=12, episodes=40, window=30)


def made_up(task):
    """A round of a member, from its settings and bytes alone; it remembers all that it was."""
    history = json.loads(task.state) if task.state else []
    donor = json.loads(task.donor) if task.donor else None
    seed = json.loads(task.config)["seed"]
    history = [*(history if donor is None else donor), [seed, task.number]]
    rng = np.random.default_rng([len(json.dumps(history)), seed, task.number])
    scores = rng.normal(seed % 7, 1.0, task.window).astype(np.float32).tolist()
    updates = 3 * task.number
    lines = [{"updates": updates + n, "return_100": scores[n], "seconds": 0} for n in range(3)]
    last = {"event": "round", "round": task.number, "episodes": 40, "mean": scores[0]}
    return {"state": json.dumps(history).encode(), "scores": scores, "records": [*lines, last]}


def made_up_work(task, on_progress):
    """As `train_round` is called."""
    return made_up(task)


class SlowEngine:
    """Makes up rounds, 2 milliseconds each; counts them in a file, whole or not."""

    def __init__(self, out: Path):
        self.log = out.parent / f"{out.name}.trained"

    def run(self, jobs):
        for job in jobs:
            time.sleep(0.002)
            yield JobProgress(job, "done", 1.0, result=made_up(job.payload))
            # Only what was recorded before the next one is asked for counts.
            with self.log.open("a") as file:
                file.write(f"{job.id[1]} {job.payload.number}\n")


def train(out: Path) -> None:
    population = Population(PLAN, out, resume=(out / "population.json").exists())
    for _ in run_populations([population], SlowEngine(out)):
        pass


def main() -> None:
    # JAX is imported but never used here, so there are no threads for a fork to hurt.
    warnings.simplefilter("ignore")
    out, kills = Path(sys.argv[1]), int(sys.argv[2])
    train(out / "whole")
    rng = random.Random(0)
    for _ in range(kills):
        before = rounds_done(out / "killed")
        child = os.fork()
        if child == 0:
            train(out / "killed")
            os._exit(0)
        while rounds_done(out / "killed") == before:
            time.sleep(0.001)
        time.sleep(rng.uniform(0.0, 0.02))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    partial = rounds_done(out / "killed") < PLAN.members * PLAN.rounds
    train(out / "killed")
    print(json.dumps({"kills": kills, "partial": partial}))


def rounds_done(out: Path) -> int:
    """How many rounds are written down."""
    log = SlowEngine(out).log
    return log.read_text().count("\n") if log.exists() else 0


if __name__ == "__main__":
    main()
