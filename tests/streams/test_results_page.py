"""What docs/results.md says of the paper's figure 4 is what the records say."""

from collections.abc import Iterable
from pathlib import Path

import polars as pl
import pytest

from longpass.streams import read_results

RESULTS = Path(__file__).parents[2] / "results" / "classification"
MARKERS = ("two-markers", "three-markers")


@pytest.fixture(scope="module")
def cells():
    """Runs, runs that solve the task and the best accuracy, by task, memory and truncation."""
    return (
        read_results(RESULTS)
        .group_by("task", "memory", "truncation")
        .agg(
            runs=pl.len(),
            solved=(pl.col("accuracy") >= 0.95).sum(),
            best=pl.col("accuracy").max(),
        )
        .sort("truncation")
    )


def pick(cells, tasks, memory, truncations: Iterable[int] = range(1000)):
    """The cells of a memory on some tasks, by default at every truncation."""
    of = pl.col("task").is_in(tasks), pl.col("truncation").is_in(list(truncations))
    return cells.filter(*of, memory=memory)


def test_every_cell_has_its_runs(cells):
    assert cells["runs"].sum() == 1728
    assert set(cells.filter(pl.col("task").is_in(MARKERS))["runs"]) == {30}
    assert set(cells.filter(task="subsequences")["runs"]) == {12}


def test_the_best_chains_and_lstms(cells):
    assert pick(cells, MARKERS, "chain", range(129))["best"].min() >= 0.99
    tasks = (*MARKERS, "subsequences")
    assert pick(cells, tasks, "lstm", range(32))["solved"].sum() == 0
    hard = pick(cells, ["subsequences"], "chain")
    assert (round(hard["best"].min(), 2), round(hard["best"].max(), 2)) == (0.83, 0.96)
    assert (hard["solved"].sum(), hard["runs"].sum()) == (2, 96)
    assert pick(cells, ["subsequences"], "lstm", range(64))["solved"].sum() == 0
    assert pick(cells, ["subsequences"], "lstm", (64, 128, 256))["solved"].min() > 0


def test_how_many_settings_suit(cells):
    two = pick(cells, ["two-markers"], "chain")["solved"].to_list()
    assert (two[0], two[-1]) == (11, 4)
    three = pick(cells, ["three-markers"], "chain")["solved"]
    assert (three.min(), three.max()) == (0, 3)
    long = pick(cells, (*MARKERS, "subsequences"), "lstm", (64, 128, 256))
    share = long["solved"] / long["runs"]
    assert (share.min(), share.max()) == (0.3, 0.5)


def test_parallel_filters(cells):
    assert pick(cells, ["two-markers"], "parallel", range(33))["best"].min() >= 0.98
    assert round(pick(cells, ["three-markers"], "parallel")["best"].max(), 2) == 0.85
