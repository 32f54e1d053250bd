"""`longpass claims`."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from longpass._json import JsonObject

if TYPE_CHECKING:
    from longpass.claims import Finding, TaskFinding


_AGENTS = Path("results/agents")


@dataclasses.dataclass
class Claims:
    """Evaluate the paper's claims from records: which hold, which fail, which need more runs.

    A claim holds where its 95 % interval lies above what chance would give, and fails where it
    lies below. It needs more runs (too few) where the interval includes both, or a group that is
    compared has fewer than 10 runs (5 agents). It holds as a whole if it does on every task, and
    fails if it does on any.

      longpass claims
      longpass claims --records results/sweep
    """

    records: Path = Path("results/classification")
    """Folder of `longpass sweep` or `longpass classify`, or one that holds such folders."""
    agents: Path | None = None
    """Folder of `longpass study`, `pbt` or `train`, or one that holds such folders; by default
    results/agents, if it is there."""
    json: bool = False
    """Print one JSON object on standard output, and nothing else there."""

    def run(self, console: Console) -> JsonObject:
        from longpass.claims import evaluate_agents, evaluate_classification

        findings = evaluate_classification(self.records)
        agents = self.agents
        if agents is None and _AGENTS.is_dir():
            agents = _AGENTS
        if agents is not None:
            findings += evaluate_agents(agents)
        console.print(_table(findings))
        for finding in findings:
            claim = finding.claim
            console.print(f"[bold]{claim.id}[/]: {claim.text}", highlight=False)
            console.print(f"Value: {claim.statistic}; above {claim.threshold:g} it holds.\n")
        return {
            "command": "claims",
            "records": str(self.records),
            "agents": None if agents is None else str(agents),
            "claims": [finding.to_json() for finding in findings],
        }


def _table(findings: "list[Finding]") -> Table:
    """One row per claim, with the value of its weakest task, above one row per task."""
    table = Table("claim, and on each task", "runs", "value", "95 % interval", "verdict")
    for finding in findings:
        table.add_row(finding.claim.id, str(finding.n), *_row(finding.weakest), style="bold")
        for one in finding.tasks:
            table.add_row(f"  {one.task}", str(one.n), *_row(one))
        table.add_section()
    return table


def _row(one: "TaskFinding") -> tuple[str, str, str]:
    value = "" if one.value is None else f"{one.value:.2f}"
    interval = "" if one.interval is None else "{:.2f} to {:.2f}".format(*one.interval)
    return value, interval, one.verdict
