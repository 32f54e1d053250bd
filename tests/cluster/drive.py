"""A sweep of made-up runs over Ray, in a process of its own, to be killed: see test_engine.py."""

import sys
from pathlib import Path

from longpass.jobs import engine_for
from longpass.streams import Sweep
from tests.cluster.toil import Numbers, obey


def main() -> None:
    address, out, count = sys.argv[1:]
    with engine_for("ray", 2, obey, address) as engine:
        for update in Sweep(Numbers(int(count)), Path(out)).carry_out(engine):
            if update.records is None:
                print(int(update.smoothed[0]), flush=True)


if __name__ == "__main__":
    main()
