"""The files that longpass reads: a good one of each kind, and who reads it."""

import dataclasses
import functools
import os
import platform
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

import longpass.memory
from longpass import agents, envs, records, report, streams
from longpass.agents import PopulationPlan, RoundResult

ROOT = Path(__file__).parent.parent
EPISODE = ROOT / "tests" / "golden" / "cued_catch_00.npz"
_SIZES: dict[str, Any] = {"envs": 2, "rollout": 10, "block_every": 2, "pool_size": 4}
_TREE = {"weights": np.arange(48.0, dtype=np.float32), "updates": np.int32(7)}
_OLDER = {"weights": np.zeros(48, np.float32), "updates": np.int32(3)}
_ABOUT = {"seed": 0}


@dataclasses.dataclass(frozen=True)
class Target:
    """A kind of file.

    **Arguments:**

    - `name`: for people.
    - `make`: writes good files into a folder, and returns the one that is damaged.
    - `read`: reads the folder as commands do, and returns what it found.
    - `checked`: whether damage of any bit is found. Text has no checksum.
    - `older`: what is read instead if the file is damaged; None: there is nothing older.
    """

    name: str
    make: Callable[[Path], Path]
    read: Callable[[Path], Any]
    checked: bool = False
    older: Any = None


def _run() -> agents.RunSettings:
    return agents.resolve_settings("cued-catch", None, _SIZES)


def _make_settings(folder: Path) -> Path:
    path = folder / records.SETTINGS
    records.write_json(path, {"kind": "agent", **_run().to_json()})
    return path


def _read_settings(folder: Path) -> Any:
    settings = agents.load_settings(folder)
    with records.RunFolder(folder, "agent", settings.to_json(), resume=True):
        return settings.to_json()


_PLAN = streams.SweepPlan(tasks=("two-markers",), memories=("chain",), truncations=(2,), runs=2)


def _make_plan(folder: Path) -> Path:
    streams.Sweep(_PLAN, folder)
    return folder / "plan.json"


def _read_plan(folder: Path) -> Any:
    return len(streams.Sweep(_PLAN, folder).remaining())


def _make_records(folder: Path) -> Path:
    sweep = streams.Sweep(_PLAN, folder)
    lines = [
        {
            "event": "result",
            "kind": streams.KIND,
            "run": i,
            "settings": {**dataclasses.asdict(_PLAN.settings(i))},
            "accuracy": 0.5,
            "diverged": None,
        }
        for i in range(2)
    ]
    sweep.records.append(lines)
    return sweep.records.path


def _read_records(folder: Path) -> Any:
    sweep = streams.Sweep(_PLAN, folder)
    table = streams.read_results(folder)
    return [sweep.summary(), len(sweep.remaining()), table.rows()]


def _make_checkpoint(folder: Path) -> Path:
    checkpoints = records.Checkpoints(folder)
    checkpoints.save(_OLDER, _ABOUT)
    checkpoints.save(_TREE, _ABOUT)
    return checkpoints.latest


def _read_checkpoint(folder: Path) -> Any:
    tree, warning = records.Checkpoints(folder).load(_TREE, _ABOUT)
    assert int(tree["updates"]) == 7 or warning, "an older checkpoint without a warning"
    return np.asarray(tree["weights"]).tolist()


def population_plan() -> PopulationPlan:
    """A small population."""
    return PopulationPlan(run=_run(), size=2, rounds=3, episodes=4, window=2)


def make_population(folder: Path) -> agents.Population:
    """A population that has done two of its three rounds."""
    population = agents.Population(population_plan(), folder)
    population.prepare()
    for number in range(2):
        for member in range(2):
            scores = np.array([1.0, 2.0 + member], np.float32)
            state = records.to_bytes({"scores": scores}, _ABOUT)
            line = {"event": "round", "round": number, "episodes": 4, "mean": 1.5, "scored": 2}
            population.record(member, number, RoundResult(state, [line]))
        population.next_round()
    return population


def _make_round(folder: Path) -> Path:
    return make_population(folder).folder(1) / "round-1.npz"


def _make_population_json(folder: Path) -> Path:
    return make_population(folder).out / "population.json"


def _make_audit(folder: Path) -> Path:
    return make_population(folder).audit.path


def _read_population(folder: Path) -> Any:
    population = agents.Population(population_plan(), folder, resume=True)
    population.prepare()
    rounds = [(member, task.number) for member, task in population.next_round()]
    return [rounds, [row["copies"] for row in population.summary()]]


def _make_episode(folder: Path) -> Path:
    path = folder / EPISODE.name
    path.write_bytes(EPISODE.read_bytes())
    return path


def _read_episode(folder: Path) -> Any:
    result = envs.replay_episode(folder / EPISODE.name)
    if result.status == "unreadable":
        raise ValueError(f"{result.path}: {result.detail}")
    return result.status


@functools.cache
def _weights() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory"
        memory = longpass.Concrete(3, 4, num_pools=2, pool_size=3, key=jax.random.key(0))
        longpass.memory.save(memory, path)
        return path.read_bytes()


def _make_weights(folder: Path) -> Path:
    path = folder / "memory.safetensors"
    path.write_bytes(_weights())
    return path


def _read_weights(folder: Path) -> Any:
    memory = longpass.memory.load(folder / "memory.safetensors")
    return [leaf.shape for leaf in jax.tree.leaves(memory)]


@functools.cache
def _agent() -> bytes:
    return (Path(agents.__file__).parent / "pretrained" / "t-maze-chain.safetensors").read_bytes()


def _make_agent(folder: Path) -> Path:
    """An agent that comes with longpass. `longpass export` writes such files too."""
    path = folder / "agent.safetensors"
    path.write_bytes(_agent())
    return path


def _read_agent(folder: Path) -> Any:
    agent = agents.load_agent(folder / "agent.safetensors")
    return [leaf.shape for leaf in jax.tree.leaves(agent.network)]


def _make_agent_run(folder: Path) -> Path:
    """The records of an agent that was trained."""
    recorded = ROOT / "results" / "agents" / "conditioning" / "frozen-sparse-layer-seed0"
    for name in (records.SETTINGS, records.RECORDS):
        (folder / name).write_bytes((recorded / name).read_bytes())
    return folder / records.RECORDS


def _make_lock(folder: Path) -> Path:
    _make_records(folder)
    path = folder / records.LOCK
    records.write_json(path, {"process": os.getpid(), "host": platform.node(), "since": "today"})
    return path


def _read_for_report(folder: Path) -> Any:
    """What `longpass report` shows of a folder; what it cannot read is left out, with a note."""
    found = report.write_report([folder], folder / "report.html")
    assert found.runs or found.notes or not _has_line(folder / records.RECORDS), "without a note"
    return found.runs


def _has_line(path: Path) -> bool:
    """Whether a file has a whole line, or claims to be too large to look."""
    if not path.is_file():
        return False
    return path.stat().st_size > 2**20 or b"\n" in path.read_bytes()


TARGETS = (
    Target("settings.json", _make_settings, _read_settings),
    Target("plan.json", _make_plan, _read_plan),
    Target("records.jsonl", _make_records, _read_records),
    Target("checkpoint.npz", _make_checkpoint, _read_checkpoint, True, [0.0] * 48),
    # A round that is damaged is trained again, from the one before.
    Target("round-1.npz", _make_round, _read_population, True, [[(1, 1)], [0, 0]]),
    Target("population.json", _make_population_json, _read_population),
    Target("audit.jsonl", _make_audit, _read_population),
    Target("a recorded episode", _make_episode, _read_episode, True),
    Target("weights (safetensors)", _make_weights, _read_weights),
    Target("an agent that comes with longpass", _make_agent, _read_agent),
    Target("records.jsonl, for the report", _make_records, _read_for_report),
    Target("records.jsonl of an agent, for the report", _make_agent_run, _read_for_report),
    Target("plan.json, for the report", _make_plan, _read_for_report),
    Target("population.json, for the report", _make_population_json, _read_for_report),
    Target("lock, for the report", _make_lock, _read_for_report),
)
