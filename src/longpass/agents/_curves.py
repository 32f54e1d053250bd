"""Learning curves from records, without JAX."""

from pathlib import Path

from longpass.records import NUMBER_OR_NONE, RECORDS, Line, Needs, Records

_NEEDS: Needs = {
    "updates": int,
    "steps": int,
    "episodes": int,
    "return_100": NUMBER_OR_NONE,
    "return_3000": NUMBER_OR_NONE,
}


def learning_curve(folder: Path) -> list[Line]:
    """The progress lines of the run in a folder, in order.

    A run that was stopped may have recorded some updates twice, equal except for their seconds:
    the later line counts.

    **Arguments:**

    - `folder`: of the run.

    **Returns:**

    The lines, one per compiled call.
    """
    lines = Records(Path(folder) / RECORDS).read_events("progress", _NEEDS)
    latest = {line["updates"]: line for line in lines}
    return [latest[updates] for updates in sorted(latest)]
