"""How much of the paper's reinforcement learning to run: minutes, hours or weeks."""

import dataclasses
from typing import Any

from longpass._names import AgentStudy, MemoryName, Preset
from longpass._settings import AgentFields
from longpass.agents._configure import configure
from longpass.agents._population_plan import Members

# In each task's figure: memories, and how often gradients are blocked.
_CELLS: dict[str, tuple[tuple[MemoryName, ...], tuple[int, ...]]] = {
    "cued_catch": (("chain", "lstm"), (3, 20, 100, 300)),
    "t_maze": (("chain", "lstm"), (3, 20, 100, 300)),
    "sequence_recall": (("chain", "lstm", "parallel"), (20, 300)),
}
# When the LSTM starts working: from the paper's difficulty on, easier and easier.
_ONSET = {
    "cued_catch": ("reward_free_trials", (40, 20, 10, 5)),
    "t_maze": ("limbo_time", (280, 210, 140, 70)),
}


@dataclasses.dataclass(frozen=True)
class _Size:
    """How much a preset trains."""

    members: int
    seeds: int
    rounds: dict[str, tuple[int, int]]
    """For each task: rounds, and episodes in each."""


_SIZES = {
    # About 4 to 6 million steps of single agents.
    "quick": _Size(
        1, 1, {"cued_catch": (1, 5_000), "t_maze": (1, 12_000), "sequence_recall": (1, 15_000)}
    ),
    # Single agents, in rounds so that little is lost when they are stopped.
    "laptop": _Size(
        1, 3, {"cued_catch": (2, 8_000), "t_maze": (3, 10_000), "sequence_recall": (3, 20_000)}
    ),
    # Nine members, five runs, 30,000 episodes a round. How many rounds is not in its text.
    "paper": _Size(9, 5, dict.fromkeys(_CELLS, (10, 30_000))),
}


def agent_preset(name: Preset, study: AgentStudy) -> dict[str, Members]:
    """The populations of a preset, by the name of their folder. Single agents are populations of
    one; quick has one `block_every`, and the ends of the LSTM's range."""
    plans = {}
    size = _SIZES[name]
    for task, values, memory, block in _cells(study, quick=name == "quick"):
        special = "".join(f"-{key.replace('_', '-')}-{value}" for key, value in values.items())
        for seed in range(size.seeds):
            rounds, episodes = size.rounds[task]
            fields = AgentFields(memory=memory, block_every=block, seed=seed)
            plan = Members(
                config=configure(task, values, fields),
                members=size.members,
                rounds=rounds,
                episodes=episodes,
            )
            folder = f"{task.replace('_', '-')}/{name}-{memory}-{block}{special}-seed{seed}"
            plans[folder] = plan
    return plans


def _cells(study: AgentStudy, quick: bool) -> list[tuple[str, dict[str, Any], MemoryName, int]]:
    """(Task, parameters that are not the paper's, memory, block_every)."""
    if study != "lstm-onset":
        task = study.replace("-", "_")
        memories, blocks = _CELLS[task]
        if quick:
            memories, blocks = memories[:2], blocks[:1]
        return [(task, {}, memory, block) for block in blocks for memory in memories]
    cells: list[tuple[str, dict[str, Any], MemoryName, int]] = []
    for task, (name, values) in _ONSET.items():
        for value in (values[0], values[-1]) if quick else values:
            cells.append((task, {} if value == values[0] else {name: value}, "lstm", 300))
    return cells
