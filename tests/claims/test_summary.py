"""The words of the table that begins docs/results.md are those of the claims' verdicts."""

from pathlib import Path

import pytest

from longpass.claims import evaluate_agents, evaluate_classification
from tables_summary import summary_table

RESULTS = Path(__file__).parents[2] / "results"


@pytest.fixture(scope="module")
def verdicts():
    findings = [
        *evaluate_classification(RESULTS / "classification"),
        *evaluate_agents(RESULTS / "agents"),
    ]
    return {finding.claim.id: finding.verdict for finding in findings}


@pytest.fixture(scope="module")
def rows():
    """What was found, by how the paper's sentence begins."""
    cells = [line.strip("| ").split(" | ", 1) for line in summary_table().splitlines()[2:]]
    return {paper.split(",")[0]: found for paper, found in cells}


def test_classification(rows, verdicts):
    assert verdicts["chain-short-truncation"] == "holds"
    assert rows["With gradients over 2 to 8 steps chains learn to classify"].startswith("**Yes.**")
    assert verdicts["lstm-needs-long-truncation"] == "holds"
    assert rows["LSTMs need long gradients."].startswith("**Yes.**")


def test_agents(rows, verdicts):
    chains = rows[
        "Chains learn Cued Catch and the T-maze with gradients blocked every 3 to 300 steps."
    ]
    assert verdicts["cued-catch-chain"] == verdicts["t-maze-chain"] == "holds"
    assert chains.startswith("**Yes with our conditioning: ")
    assert verdicts["paper-form"] == "fails"
    assert "Not in the paper's own form: 0 of " in chains
    assert "holds" not in (verdicts["cued-catch-no-lstm"], verdicts["t-maze-no-lstm"])
    assert rows["LSTMs do not learn Cued Catch"].startswith("**Most do, if their gates begin with")


def test_onset_and_order(rows, verdicts):
    """No claim about LSTMs with long times at low difficulties alone holds; with a forget bias of 1
    it does in the T-maze."""
    onset = rows["LSTMs begin to learn at 10 reward-free trials and 140 steps in limbo."]
    assert onset.startswith("**In the T-maze about so with a forget bias of 1; with long times be")
    assert verdicts["forget-bias-onset-t-maze"] == "holds"
    assert verdicts["forget-bias-onset-cued-catch"] != "holds"
    assert "holds" not in (verdicts["lstm-onset-cued-catch"], verdicts["lstm-onset-t-maze"])
    order = rows["In Sequence Recall chains earn more than LSTMs and than parallel filters."]
    surely = verdicts["sequence-recall-order"] == "holds"
    assert order.startswith("**Yes.**" if surely else "**Yes, on average.**")
