"""A sweep whose runs are made up: what trains nothing costs nothing, and is hurt all the same.

`python -m chaos._made_up ENGINE ADDRESS RUNS OUT` runs it, slowly enough to be hurt.
"""

import dataclasses
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, cast

from longpass.jobs import make_engine
from longpass.records import Line
from longpass.streams import Sweep


@dataclasses.dataclass(frozen=True)
class Numbers:
    """A plan whose runs only square their numbers."""

    count: int
    name: str = "numbers"

    def check(self) -> None:
        """Every count is possible."""

    def groups(self, learner: object = None) -> list[tuple[int, ...]]:
        """Each run is a job."""
        return [(i,) for i in range(self.count)]

    def settings(self, i: int) -> int:
        """Its number."""
        return i

    def __len__(self) -> int:
        return self.count


def square(numbers: Sequence[int], on_progress: Callable[[float, list[float]], None]) -> list[Line]:
    """The work function of `Numbers`."""
    on_progress(0.5, [0.5])
    return [{"event": "result", "square": number**2} for number in numbers]


def square_slowly(
    numbers: Sequence[int], on_progress: Callable[[float, list[float]], None]
) -> list[Line]:
    """The same, in a second."""
    for fraction in (0.0, 0.25, 0.5, 0.75):
        on_progress(fraction, [fraction])
        time.sleep(0.25)
    return square(numbers, on_progress)


def run_sweep(engine: str, address: str | None, runs: int, out: Path) -> None:
    """Run what remains of the sweep in a folder; RuntimeError if a run fails."""
    name = cast(Literal["local", "ray"], engine)
    with make_engine(name, square_slowly, 3, address) as made:
        sweep = Sweep(Numbers(runs), out)  # pyright: ignore[reportArgumentType]
        for progress in sweep.run(made):  # pyright: ignore[reportArgumentType]
            if progress.error:
                raise RuntimeError(f"run {progress.job.id} failed: {progress.error}")


if __name__ == "__main__":
    run_sweep(sys.argv[1], sys.argv[2] or None, int(sys.argv[3]), Path(sys.argv[4]))
