"""Populations of made-up rounds, trained at once, and what they leave behind."""

import json

import numpy as np

from longpass.agents import carry_out
from longpass.jobs import Update
from longpass.records import Records
from tests.agents.killed_population import made_up


class MadeUp:
    """Makes up rounds at once, and counts them."""

    def __init__(self, fail_after=None):
        self.trained, self._fail_after = [], fail_after

    def carry_out(self, jobs):
        for job in jobs:
            if self._fail_after is not None and len(self.trained) >= self._fail_after:
                raise OSError("the driver is gone")
            self.trained.append((job.runs[1], job.settings[0].number))
            yield Update(job, 1.0, [], records=made_up(job.settings[0]))


def train(population, engine):
    for update in carry_out([population], engine):
        assert update.error is None


def left_behind(out):
    """All that a population left, but for seconds and days."""
    records = {
        member: Records(out / "members" / str(member) / "records.jsonl").read()
        for member in range(len(list((out / "members").iterdir())))
    }
    states = {
        str(path.relative_to(out)): dict(np.load(path)) for path in sorted(out.rglob("round-*.npz"))
    }
    states = {
        name: {key: value.tolist() for key, value in arrays.items()}
        for name, arrays in states.items()
    }
    plan = json.loads((out / "population.json").read_text())
    return records, Records(out / "audit.jsonl").read(), states, plan
