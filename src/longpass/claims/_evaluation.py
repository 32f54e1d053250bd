"""All claims, evaluated from folders with records."""

from pathlib import Path

from longpass.agents import find_returns
from longpass.claims._agents import AGENTS
from longpass.claims._claim import Finding, evaluate
from longpass.claims._classification import CLASSIFICATION
from longpass.streams import read_results


def evaluate_classification(records: Path) -> list[Finding]:
    """Evaluate every claim about classification from the records in a folder and below it.

    **Arguments:**

    - `records`: the folder, such as `results/classification`. ValueError if it is not there.

    **Returns:** one finding per claim.
    """
    results = read_results(records)
    return [evaluate(claim, results) for claim in CLASSIFICATION]


def evaluate_agents(records: Path) -> list[Finding]:
    """Evaluate every claim about agents from the records in a folder and below it.

    **Arguments:**

    - `records`: the folder, such as `results/agents`. ValueError if it is not there.

    **Returns:** one finding per claim.
    """
    if not Path(records).is_dir():
        raise ValueError(
            f"agents is {str(records)!r}: it must be a folder of `longpass study`, `pbt` or "
            f"`train`, or one that holds such folders"
        )
    returns = find_returns(records)
    return [evaluate(claim, returns) for claim in AGENTS]
