"""A sweep of made-up runs in a process of its own, to be killed: see test_sweeps.py."""

import sys
from pathlib import Path
from typing import cast

from longpass.jobs import EngineName, make_engine
from longpass.streams import Sweep
from tests.jobs.made_up import Numbers, square_runs


def main() -> None:
    name, address, out, count = sys.argv[1:]
    with make_engine(cast(EngineName, name), square_runs, 2, address or None) as engine:
        for progress in Sweep(Numbers(int(count)), Path(out)).run(engine):
            if progress.state == "running":
                print(int(progress.scores[0]), flush=True)


if __name__ == "__main__":
    main()
