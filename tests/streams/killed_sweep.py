"""Kill a sweep of made-up runs again and again, in a process of its own: see test_sweep.py."""

import json
import os
import random
import signal
import sys
import time
import warnings
from pathlib import Path

from longpass._fields import to_json
from longpass.jobs import JobProgress
from longpass.streams import Sweep, SweepPlan

PLAN = SweepPlan(name="killed", tasks=("two-markers",), truncations=(2, 4, 8, 16), runs=30)


class SlowEngine:
    """Makes up results that depend on the settings only, 2 milliseconds each."""

    workers = 1

    def run(self, jobs):
        for job in jobs:
            time.sleep(0.002)
            lines = [
                {
                    "event": "result",
                    "settings": to_json(one),
                    "score": random.Random(one.seed).random(),
                }
                for one in job.payload
            ]
            yield JobProgress(job, "done", 1.0, result=lines)


def run_sweep(out: Path) -> None:
    for _ in Sweep(PLAN, out).run(SlowEngine()):
        pass


def count_lines(records: Path) -> int:
    return records.read_text().count("\n") if records.exists() else 0


def main() -> None:
    # There are no threads here that a fork could hurt.
    warnings.simplefilter("ignore")
    out, kills = Path(sys.argv[1]), int(sys.argv[2])
    run_sweep(out / "whole")
    rng = random.Random(0)
    records = out / "killed" / "records.jsonl"
    partial = 0
    for kill in range(kills):
        child = os.fork()
        if child == 0:
            run_sweep(out / "killed")
            os._exit(0)
        before = count_lines(records)
        # Most are killed while they write, however slow the machine is; every fourth anywhere.
        while kill % 4 and count_lines(records) == before < len(PLAN):
            time.sleep(0.001)
        time.sleep(rng.uniform(0.0, 0.03))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        partial += 0 < count_lines(records) < len(PLAN)
    run_sweep(out / "killed")
    print(json.dumps({"kills": kills, "torn or partial": partial, "runs": len(PLAN)}))


if __name__ == "__main__":
    main()
