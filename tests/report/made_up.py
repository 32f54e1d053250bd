"""Records that no run left, for tests of the report."""

import json
from pathlib import Path
from typing import Any

from longpass.agents import resolve_settings
from longpass.envs import WORLDS
from longpass.records import Line
from longpass.streams import StreamSettings

ABOUT = {"version": "0", "commit": "c0ffee", "jax": "0", "machine": "none", "date": "2026-01-01"}


def append(path: Path, *lines: Line | str) -> None:
    """Append lines to a file of records; text goes there as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        for line in lines:
            file.write(line if isinstance(line, str) else json.dumps(line) + "\n")


def stream_line(accuracy: Any = 0.9, points: int = 20, **settings: Any) -> Line:
    """The result of a run of classification."""
    chosen = StreamSettings(**settings).resolved()
    return {
        "event": "result",
        "kind": "stream",
        "settings": vars(chosen),
        "accuracy": accuracy,
        "diverged": None if accuracy is not None else 7,
        "symbols": chosen.symbols,
        "updates": chosen.updates,
        "curve": [round((n + 1) / points, 4) for n in range(points)],
        **ABOUT,
    }


def write_sweep(folder: Path, runs: int = 3, name: str = "made-up") -> None:
    """A sweep: three memories, two truncations, two of the three tasks."""
    memories, truncations = ("chain", "parallel", "lstm"), (2, 128)
    tasks = ("two-markers", "subsequences")
    plan = {"name": name, "tasks": tasks, "memories": memories, "truncations": truncations}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "plan.json").write_text(json.dumps(plan | {"runs": runs + 1}))
    for seed in range(runs):
        for task in tasks:
            for memory in memories:
                for truncation in truncations:
                    accuracy = 1.0 - 0.1 * seed if memory != "lstm" or truncation > 2 else 0.3
                    line = stream_line(
                        accuracy, task=task, memory=memory, truncation=truncation, seed=seed
                    )
                    append(folder / "records.jsonl", line | {"sweep": name, "run": seed})


def agent_settings(env: str = "t-maze", seed: int = 0, **changes: Any) -> dict[str, Any]:
    """Complete settings of an agent with the defaults of its memory."""
    chosen = {"memory": "chain", "block_every": 3} | changes
    return resolve_settings(env, WORLDS[env].load_params()(), chosen, seed=seed).to_json()


def progress_line(number: int, value: float | None = 0.0, per: int = 40) -> Line:
    """A progress line of an agent."""
    return {
        "event": "progress",
        "updates": per * number,
        "steps": 2400 * per * number,
        "episodes": 100 * number,
        "seconds": 2.0 * number,
        "return_100": value,
        "return_3000": value,
    }


def write_agent(folder: Path, settings: dict[str, Any], values: list[float]) -> None:
    """The folder of an agent."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "settings.json").write_text(json.dumps({"kind": "agent", **settings}))
    begin = {"event": "begin", "kind": "agent", "settings": settings, **ABOUT}
    lines = [progress_line(n, value) for n, value in enumerate(values, 1)]
    append(folder / "records.jsonl", begin, *lines)


def write_population(folder: Path, size: int = 4, rounds: int = 2) -> None:
    """A population in which member 1 copied member 0 after the first round."""
    settings = agent_settings(block_every=100)
    plan = {"size": size, "rounds": rounds, "episodes": 200, "run": settings}
    folder.mkdir(parents=True)
    (folder / "population.json").write_text(json.dumps({"plan": plan, "members": []}))
    for member in range(size):
        own = folder / "members" / str(member)
        write_agent(own, settings | {"seed": member}, [-1.0, -0.5, 0.1 * member, 0.2 * member])
        ends = [{"event": "round", "round": n, "mean": 0.1 * (n + member)} for n in range(rounds)]
        append(own / "records.jsonl", *ends)
    decided = {"round": 0, "other": 0, "mean": 0.0, "other_mean": 1.0, "p": 0.0}
    append(folder / "audit.jsonl", decided | {"member": 1, "copied": True})
    append(folder / "audit.jsonl", decided | {"member": 2, "copied": False})


def write_all(top: Path) -> Path:
    """A sweep, agents and a population, as `results/` has them."""
    write_sweep(top / "classification" / "sweep")
    for seed in range(2):
        rising = [min(0.6, -1.0 + 0.2 * n + 0.1 * seed) for n in range(12)]
        write_agent(top / "agents" / f"chain-3-seed{seed}", agent_settings(seed=seed), rising)
    gated = agent_settings(memory="lstm", block_every=300)
    write_agent(top / "agents" / "lstm-300", gated, [-1.0] * 8)
    write_agent(top / "agents" / "conditioning" / "one", agent_settings(seed=5), [-1.0, 0.0])
    write_population(top / "agents" / "population")
    return top


def write_hostile(top: Path) -> Path:
    """Records whose names and values try to be more than data, or are broken."""
    attack = "<script>alert(1)</script>"
    image = '<img src="https://example.invalid/x" onerror="alert(2)">'
    folder = top / attack.replace("/", "∕")
    append(
        folder / "records.jsonl",
        stream_line(0.5) | {"commit": image},
        stream_line(0.4) | {"settings": vars(StreamSettings().resolved()) | {"memory": image}},
        stream_line(0.4) | {"settings": vars(StreamSettings().resolved()) | {"task": attack}},
        stream_line(float("nan"), seed=1),
        stream_line(None, seed=2),
        stream_line(0.7, points=1_000_000, seed=3),
        stream_line("0.7", seed=4),
        stream_line(0.7, seed=5) | {"settings": "$$\\alpha$$"},
        stream_line(0.7, seed=6) | {"curve": {"steps": "no"}},
        stream_line(0.7, seed=7) | {"curve": [None, float("nan"), float("inf"), 0.5]},
        {"event": "result"},
        {"event": "begin"},
        {"something": "else"},
        "[1, 2]\n",
        "not json at all\n",
        "[" * 100_000 + "\n",
        '{"event": "result", "kind": "stream", "settings": {"ta',  # being written
    )
    write_agent(top / "`${alert(3)}`", agent_settings(), [0.1, 0.2])
    (top / "plan.json").write_text("not json")
    (top / "lock").write_text('{"process": "<b>", "host": 7}')
    (top / "loop").symlink_to(top)
    return top
