"""What the tests of agents share: the smallest networks and runs there are, and made-up rounds."""

import io
import json
from typing import Any

import jax
import numpy as np

from longpass.agents import (
    AgentSettings,
    HyperParams,
    Impala,
    LearnerSettings,
    NetworkBuilder,
    NetworkSettings,
    PopulationPlan,
    RoundResult,
    RunSettings,
    hyper_arrays,
    learning_curve,
    resolve_settings,
    run_populations,
    train_round,
)
from longpass.envs import CuedCatchParams
from longpass.jobs import JobProgress
from longpass.records import Records
from tests.agents.probes import RECALL, Probe, ProbeParams

RUN = resolve_settings(
    "cued-catch",
    CuedCatchParams(num_trials=3, initial_cue_duration=1, reward_free_trials=0),
    {
        "num_pools": 3,
        "pool_size": 8,
        "viewport_size": 4,
        "output_size": 8,
        "writer": "slow",
        "envs": 4,
        "rollout": 20,
        "slices": 2,
        "block_every": 5,
        "lag": 1,
        "updates_per_call": 2,
    },
    seed=3,
)
"""A run of a second."""


def hyper(**values):
    """Hyper-parameters as a learner takes them."""
    return hyper_arrays(HyperParams(**values))


def small_network(memory, **settings):
    """Builds a small network in our conditioning, for the probes."""
    chosen: dict[str, Any] = {
        "num_pools": 5,
        "pool_size": 16,
        "viewport_size": 8,
        "output_size": 32,
        "hidden_size": 32,
        "writer": "frozen",
        "embedding": "sparse",
        "normalise": "layer" if memory in ("chain", "parallel") else None,
    }
    return NetworkBuilder(NetworkSettings(memory=memory, **chosen | settings), (1, 1, 4), 5)


# A run on a probe over Ray: gradients reach back 2 steps, the bit lies 3 back.
PROBE_RUN = RunSettings(
    env="probe",
    agent=AgentSettings(
        learner=LearnerSettings(envs=16, rollout=18, slices=1, block_every=2, stagger=20)
    ),
)


def make_probe_trainer(run):
    """As `make_trainer`, for `PROBE_RUN`."""
    build = small_network("chain", num_pools=3, output_size=16)
    return Impala(Probe(), ProbeParams(RECALL, 4), build, run.agent.learner)


def arrays(folder, name="checkpoint.npz"):
    """What a checkpoint holds, except for the seconds it took."""
    with np.load(folder / name) as file:
        return {name: file[name] for name in file.files if "seconds" not in name}


def without_seconds(lines):
    return [{name: value for name, value in one.items() if name != "seconds"} for one in lines]


def assert_same_runs(one, other):
    first, second = arrays(one), arrays(other)
    assert set(first) == set(second)
    for name, array in first.items():
        np.testing.assert_array_equal(array, second[name], err_msg=name)
    curves = [without_seconds(learning_curve(run)) for run in (one, other)]
    assert curves[0] == curves[1]


def assert_same_trees(one, other):
    for a, b in zip(*map(jax.tree.leaves, (one, other)), strict=True):
        np.testing.assert_array_equal(a, b)


# Made-up rounds: instant, and a member remembers everything that it was.

MADE_UP = PopulationPlan(
    run=RunSettings(
        env="cued-catch",
        params=CuedCatchParams(),
        agent=AgentSettings(
            NetworkSettings(memory="lstm", hidden_size=4),
            LearnerSettings(),
            HyperParams(learning_rate=1.0, entropy_cost=1.0, epsilon=1.0),
        ),
        seed=5,
    ),
    size=4,
    rounds=12,
    episodes=40,
    window=30,
)


def history_of(state):
    """What a made-up member was: (seed, round) of all rounds in its history."""
    with np.load(io.BytesIO(state)) as archive:
        return json.loads(archive["history"].tobytes())


def make_up_round(task, on_progress=None):
    """As `train_round`, from the settings and bytes alone."""
    before = task.donor or task.state
    history = [*(history_of(before) if before else []), [task.run.seed, task.number]]
    rng = np.random.default_rng([len(json.dumps(history)), task.run.seed, task.number])
    scores = rng.normal(task.run.seed % 7, 1.0, task.window).astype(np.float32)
    file = io.BytesIO()
    text = np.frombuffer(json.dumps(history).encode(), np.uint8)
    with_padding = np.append(np.float32(np.nan), scores)
    members: dict[str, Any] = {"history": text, "['scores']": with_padding}
    np.savez(file, **members)
    updates = 3 * task.number
    lines = [
        {"event": "progress", "updates": updates + n, "return_100": float(scores[n])}
        for n in range(3)
    ]
    counts = {"round": task.number, "updates": updates + 2, "episodes": 40 * (task.number + 1)}
    last = {"event": "round", **counts, "mean": float(scores.mean()), "scored": task.window}
    return RoundResult(file.getvalue(), [*lines, last])


class MadeUp:
    """An engine that makes up rounds at once, and counts them."""

    workers = 1

    def __init__(self, fail_after=None):
        self.trained, self._fail_after = [], fail_after

    def run(self, jobs):
        for job in jobs:
            if self._fail_after is not None and len(self.trained) >= self._fail_after:
                raise OSError("the driver is gone")
            self.trained.append((job.id[1], job.payload.number))
            yield JobProgress(job, "done", 1.0, result=make_up_round(job.payload))


class Here:
    """An engine that runs its work in this process, which has the compiled program already."""

    def __init__(self, work=train_round, workers=None):
        self.workers, self._work = 1, work

    def run(self, jobs):
        for job in jobs:
            yield JobProgress(job, "running")
            result = self._work(job.payload, lambda *_: None)
            yield JobProgress(job, "done", 1.0, result=result)


def train_population(population, engine):
    for progress in run_populations([population], engine):
        assert progress.error is None


def left_behind(out):
    """Everything that a population left, except for seconds and days."""
    records = {
        path.parent.name: Records(path).read() for path in out.glob("members/*/records.jsonl")
    }
    states = {
        str(path.relative_to(out)): {name: x.tobytes() for name, x in np.load(path).items()}
        for path in sorted(out.rglob("round-*.npz"))
    }
    plan = json.loads((out / "population.json").read_text())
    return records, Records(out / "audit.jsonl").read(), states, plan
