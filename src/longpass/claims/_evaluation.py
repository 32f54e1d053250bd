"""All claims, evaluated from a folder with records."""

from pathlib import Path

from longpass.claims._claim import Finding, evaluate
from longpass.claims._classification import CLASSIFICATION
from longpass.streams import read_results


def evaluate_claims(records: Path) -> list[Finding]:
    """Evaluate every claim from the records in a folder and all folders below it.

    **Arguments:**

    - `records`: the folder, such as `results/classification`. ValueError if it is not there.

    **Returns:** one finding per claim.
    """
    results = read_results(records)
    return [evaluate(claim, results) for claim in CLASSIFICATION]
