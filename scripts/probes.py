"""What supervised probes share: train what is not recorded yet, and record it."""

from collections.abc import Callable, Iterable
from pathlib import Path

from longpass.records import Line, Records


def train_missing(
    out: Path,
    names: tuple[str, ...],
    points: Iterable[tuple[object, ...]],
    train: Callable[..., Line],
    shared: Line,
) -> None:
    """Train each point that a file of records does not have, append its line and print it.

    **Arguments:**

    - `out`: the file of records.
    - `names`: the keys of a line that identify a point, in the order of its values.
    - `points`: the values; they are the arguments of `train`.
    - `train`: makes the line of a point. It must have a `curve` and `seconds`.
    - `shared`: what all points have, by key: lines with other values are other runs.
    """
    records = Records(out)
    done = {
        tuple(line[name] for name in names)
        for line in records.read()
        if all(line[name] == value for name, value in shared.items())
    }
    for point in points:
        if point in done:
            continue
        line = train(*point) | shared
        records.append([line])
        print(*point, *line["curve"][-1], f"{line['seconds']:.0f} s", sep="  ", flush=True)
