"""Kill a sweep of made-up runs again and again, in a process of its own: see test_sweep.py."""

import json
import os
import random
import signal
import sys
import time
import warnings
from pathlib import Path

from longpass.search import Plan, Sweep, Update

PLAN = Plan(name="killed", tasks=("two-markers",), truncations=(2, 4, 8, 16), runs=30)


class SlowEngine:
    """Makes up records that depend on the settings only, 2 milliseconds each."""

    def carry_out(self, jobs):
        for job in jobs:
            time.sleep(0.002)
            records = [
                {"settings": one.to_dict(), "score": random.Random(one.seed).random()}
                for one in job.settings
            ]
            yield Update(job, 1.0, [], records=records)


def carry_out(out: Path) -> None:
    for _ in Sweep(PLAN, out).carry_out(SlowEngine()):
        pass


def main() -> None:
    # JAX is imported but never used here, so there are no threads for a fork to hurt.
    warnings.simplefilter("ignore")
    out, kills = Path(sys.argv[1]), int(sys.argv[2])
    carry_out(out / "whole")
    rng = random.Random(0)
    records = out / "killed" / "runs.jsonl"
    partial = 0
    for _ in range(kills):
        before = runs_done(records)
        child = os.fork()
        if child == 0:
            carry_out(out / "killed")
            os._exit(0)
        # However busy the machine is, every kill comes while runs are being recorded.
        while runs_done(records) == before:
            time.sleep(0.001)
        time.sleep(rng.uniform(0.0, 0.006))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        partial += 0 < runs_done(records) < len(PLAN)
    carry_out(out / "killed")
    print(json.dumps({"kills": kills, "torn or partial": partial, "runs": len(PLAN)}))


def runs_done(records: Path) -> int:
    """How many runs are recorded."""
    return records.read_bytes().count(b"\n") if records.exists() else 0


if __name__ == "__main__":
    main()
