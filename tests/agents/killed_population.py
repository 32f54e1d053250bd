"""Kill a population of made-up rounds again and again, in a process of its own."""

import json
import os
import random
import signal
import sys
import time
import warnings
from pathlib import Path

from longpass.agents import Population
from longpass.jobs import JobProgress
from tests.agents.zoo import MADE_UP, make_up_round, train_population


class SlowEngine:
    """Makes up rounds, 2 milliseconds each, and counts those that were recorded in a file."""

    workers = 1

    def __init__(self, out: Path):
        self.log = out.parent / f"{out.name}.trained"

    def run(self, jobs):
        for job in jobs:
            time.sleep(0.002)
            yield JobProgress(job, "done", 1.0, result=make_up_round(job.payload))
            # Only what was recorded before the next one is asked for counts.
            with self.log.open("a") as file:
                file.write(f"{job.id[1]} {job.payload.number}\n")


def train(out: Path) -> None:
    train_population(Population(MADE_UP, out, resume=True), SlowEngine(out))


def main() -> None:
    # JAX is imported but never used here, so there are no threads for a fork to hurt.
    warnings.simplefilter("ignore")
    out, kills = Path(sys.argv[1]), int(sys.argv[2])
    train(out / "whole")
    rng = random.Random(0)
    for _ in range(kills):
        before = rounds_recorded(out / "killed")
        child = os.fork()
        if child == 0:
            train(out / "killed")
            os._exit(0)
        while rounds_recorded(out / "killed") == before:
            time.sleep(0.001)
        time.sleep(rng.uniform(0.0, 0.02))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    partial = rounds_recorded(out / "killed") < MADE_UP.size * MADE_UP.rounds
    train(out / "killed")
    print(json.dumps({"kills": kills, "partial": partial}))


def rounds_recorded(out: Path) -> int:
    log = SlowEngine(out).log
    return log.read_text().count("\n") if log.exists() else 0


if __name__ == "__main__":
    main()
