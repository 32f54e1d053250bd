"""Learning curves from records, without JAX."""

from pathlib import Path

from longpass.records import RECORDS, Line, Records


def learning_curve(folder: Path) -> list[Line]:
    """The progress lines of the run in a folder, in order.

    A run that was stopped may have recorded some updates twice, equal except for their seconds:
    the later line counts.
    """
    lines = Records(Path(folder) / RECORDS).read()
    latest = {line["updates"]: line for line in lines if line["event"] == "progress"}
    return [latest[updates] for updates in sorted(latest)]
