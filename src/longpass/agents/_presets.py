"""The agents of the paper's figures, and how much of them each preset trains.

`RETURNS` and `ONSET` are the tables from which both the presets and the figures are made. Nothing
here imports JAX before a preset is asked for.
"""

import dataclasses
from typing import Literal

from longpass import envs
from longpass._fields import Preset
from longpass.agents._defaults import resolve_settings
from longpass.agents._settings import PopulationPlan
from longpass.memory import MemoryName

AgentStudy = Literal["cued-catch", "t-maze", "sequence-recall", "lstm-onset"]
"""The agents of one world's figure, or the LSTMs over the difficulty of a world."""


@dataclasses.dataclass(frozen=True)
class ReturnsRow:
    """One world in the figure of returns."""

    title: str
    memories: tuple[MemoryName, ...]
    block_every: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class OnsetPanel:
    """One world in the figure of LSTMs over the difficulty."""

    title: str
    param: str
    """The world's parameter that sets the difficulty."""
    words: str
    """What it counts."""
    values: tuple[int, ...]
    """From the paper's difficulty to the easiest one."""


RETURNS: dict[str, ReturnsRow] = {
    "cued-catch": ReturnsRow("Cued Catch", ("chain", "lstm"), (3, 20, 100, 300)),
    "t-maze": ReturnsRow("T-maze", ("chain", "lstm"), (3, 20, 100, 300)),
    "sequence-recall": ReturnsRow("Sequence Recall", ("chain", "lstm", "parallel"), (20, 300)),
}
"""What the figures of returns show of each world: the paper's figures 5 and 6."""
ONSET: dict[str, OnsetPanel] = {
    "cued-catch": OnsetPanel(
        "Cued Catch", "reward_free_trials", "reward-free trials", (40, 20, 10, 5, 0)
    ),
    "t-maze": OnsetPanel("T-maze", "limbo_time", "steps in limbo", (280, 210, 140, 70, 0)),
}
"""What the figure by difficulty shows of each world."""
ONSET_BLOCK_EVERY = 300
"""How far gradients of its agents reach back: the longest of the paper."""
ONSET_MEMORIES: tuple[MemoryName, ...] = ("lstm", "chain")
"""The memories of its agents."""


@dataclasses.dataclass(frozen=True)
class _Size:
    """How much a preset trains."""

    members: int
    seeds: int
    rounds: dict[str, tuple[int, int]]
    """(Rounds, episodes per round) of each world."""


_SIZES: dict[str, _Size] = {
    # About 4 to 6 million steps of single agents.
    "quick": _Size(
        1, 1, {"cued-catch": (1, 5_000), "t-maze": (1, 12_000), "sequence-recall": (1, 15_000)}
    ),
    # Single agents, in rounds so that little is lost when they are stopped.
    "laptop": _Size(
        1, 3, {"cued-catch": (2, 8_000), "t-maze": (3, 10_000), "sequence-recall": (3, 20_000)}
    ),
    # Nine members, five runs, 30,000 episodes per round. The paper does not say how many rounds.
    "paper": _Size(9, 5, dict.fromkeys(RETURNS, (10, 30_000))),
}


def make_agent_preset(name: Preset, study: AgentStudy) -> dict[str, PopulationPlan]:
    """The populations of a preset, by the name of their folder.

    Single agents are populations of one. `quick` has one `block_every`, and the hardest and the
    easiest settings of the LSTMs.

    **Arguments:**

    - `name`: `quick`, `laptop` or `paper`.
    - `study`: the world, or `lstm-onset`.

    **Returns:**

    The plans.
    """
    plans = {}
    size = _SIZES[name]
    for env, params, memory, block_every in _cells(study, quick=name == "quick"):
        special = "".join(f"-{key.replace('_', '-')}-{value}" for key, value in params.items())
        rounds, episodes = size.rounds[env]
        for seed in range(size.seeds):
            run = resolve_settings(
                env,
                envs.WORLDS[env].load_params()(**params),
                {"memory": memory, "block_every": block_every},
                seed=seed,
            )
            plan = PopulationPlan(run=run, size=size.members, rounds=rounds, episodes=episodes)
            plans[f"{env}/{name}-{memory}-{block_every}{special}-seed{seed}"] = plan
    return plans


def _cells(study: AgentStudy, quick: bool) -> list[tuple[str, dict[str, int], MemoryName, int]]:
    """(World, parameters that are not the paper's, memory, block_every)."""
    if study != "lstm-onset":
        row = RETURNS[study]
        memories, blocks = row.memories, row.block_every
        if quick:
            memories, blocks = memories[:2], blocks[:1]
        return [(study, {}, memory, block) for block in blocks for memory in memories]
    cells: list[tuple[str, dict[str, int], MemoryName, int]] = []
    for env, panel in ONSET.items():
        hardest, *_, easiest = panel.values
        for value in (hardest, easiest) if quick else panel.values:
            params = {} if value == hardest else {panel.param: value}
            cells.append((env, params, "lstm", ONSET_BLOCK_EVERY))
    return cells
