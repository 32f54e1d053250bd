"""The studies of agents that this project makes: which agents each has.

Nothing here imports JAX before a study is made.
"""

import dataclasses
import itertools
import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from longpass import envs
from longpass._fields import Bounds, Overrides, check_settings
from longpass.agents._defaults import PAPER, resolve_settings
from longpass.agents._presets import ONSET, ONSET_BLOCK_EVERY, ONSET_MEMORIES, RETURNS
from longpass.agents._search import draw_paper_form, draw_settings
from longpass.agents._settings import RunSettings
from longpass.agents._study import StudyRun
from longpass.memory import MemoryName

if TYPE_CHECKING:
    from longpass.envs import Params

StudyName = Literal[
    "returns",
    "onset",
    "forget-bias",
    "gated-variants",
    "search",
    "learned-writer",
    "paper-search",
    "paper-form",
    "writer-rates",
    "delays",
]
"""The studies by name, see `StudyPlan`."""


@dataclasses.dataclass(frozen=True)
class StudyPlan:
    """Which agents a study trains, and for how long."""

    name: tyro.conf.Positional[StudyName]
    """returns: every memory and block_every of the paper's figures 5 and 6. onset: LSTM and chain
    over the difficulty of Cued Catch and the T-maze. forget-bias: the LSTM without chrono
    initialisation, likewise. gated-variants: the LSTM with one setting changed (learned torso, 256
    units, 2 copies, last action and reward), and the GRU. search: random settings for every memory,
    at the easiest difficulty of these two and in Sequence Recall. learned-writer: the chain with a
    writer that learns at a tenth of the rate. paper-search: random settings for the paper's own
    form of the chain. paper-form: that form over the difficulty. writer-rates: that form on a short
    Cued Catch, by how fast the writer learns. delays: chain and LSTM on Delayed Cue, which is not
    of the paper."""
    tasks: tuple[str, ...] = ()
    """Worlds; by default all that the study has."""
    memories: tuple[MemoryName, ...] = ()
    """Memories; by default all that the study has."""
    difficulties: tuple[int, ...] = ()
    """Reward-free trials in Cued Catch, steps in limbo in the T-maze; by default all that the study
    has."""
    block_every: tuple[int, ...] = ()
    """After how many steps gradients are stopped; by default all that the study has."""
    runs: Annotated[int, Bounds(least=1, most=10_000)] = 3
    """Agents per cell: seeds, or in a search random settings."""
    steps: Annotated[float, Bounds(above=0.0, most=1e15)] = 22e6
    """Environment steps after which an agent ends."""
    optimiser_steps: Annotated[int, Bounds(least=0, most=10**12)] = 0
    """Steps of the optimiser that every agent may take: one that needs more environment steps for
    them gets those, so that few updates are not the reason why it does not learn."""
    enough_steps: Annotated[float, Bounds(least=0.0, most=1e15)] = 4e6
    """Steps from which on an agent ends as soon as it has solved its world: its last 500 episodes
    earn 95 % of the highest possible return."""

    def __post_init__(self) -> None:
        check_settings(self)
        for task in self.tasks:
            if task not in envs.names():
                raise ValueError(f"tasks is {task!r}: it must be one of {', '.join(envs.names())}")
        _check_among("difficulties", self.difficulties, [panel.values for panel in ONSET.values()])
        _check_among("block_every", self.block_every, [row.block_every for row in RETURNS.values()])

    def make_runs(self) -> list[StudyRun]:
        """The agents, all cells for the first seed before the second.

        ValueError if the study has none with these tasks, memories, difficulties and `block_every`.
        """
        runs = [
            StudyRun(run, self._budget(run), round(self.enough_steps))
            for i in range(self.runs)
            for run in self._cells(i)
            if not self.tasks or run.env in self.tasks
            if not self.memories or run.agent.network.memory in self.memories
            if not self.difficulties or _difficulty(run) in self.difficulties
            if not self.block_every or run.agent.learner.block_every in self.block_every
        ]
        if not runs:
            chosen = ("tasks", "memories", "difficulties", "block_every")
            words = ", ".join(
                f"{name} {getattr(self, name)}" for name in chosen if getattr(self, name)
            )
            raise ValueError(f"the study {self.name} has no agent with {words}")
        return runs

    def _budget(self, run: RunSettings) -> int:
        """Environment steps after which an agent ends."""
        learner = run.agent.learner
        updates = math.ceil(self.optimiser_steps / learner.optimiser_steps)
        return max(round(self.steps), updates * learner.steps)

    def _cells(self, i: int) -> Iterator[RunSettings]:
        """Agent `i` of every cell."""
        match self.name:
            case "returns":
                for task, row in RETURNS.items():
                    for place, block_every in enumerate(row.block_every):
                        for memory in row.memories:
                            chosen = {"memory": memory, "block_every": block_every}
                            yield resolve_settings(task, None, chosen, seed=_seed(i, place))
            case "onset":
                for memory in ONSET_MEMORIES:
                    chosen = {"memory": memory, "block_every": ONSET_BLOCK_EVERY}
                    yield from _by_difficulty(chosen, seed=i)
            case "forget-bias":
                yield from _by_difficulty({"block_every": ONSET_BLOCK_EVERY, **FORGET_BIAS}, seed=i)
            case "gated-variants":
                lstm: Overrides = {"memory": "lstm", "block_every": ONSET_BLOCK_EVERY}
                for task in ONSET:
                    usual = resolve_settings(task, None, lstm, seed=i)
                    for changes in GATED_VARIANTS.values():
                        run = resolve_settings(task, None, lstm | changes, seed=i)
                        if run != usual:  # In the T-maze LSTMs have 2 copies anyway.
                            yield run
            case "search":
                for task, row in RETURNS.items():
                    params = _easiest_params(task) if task in ONSET else None
                    for memory in row.memories:
                        drawn = draw_settings(task, memory, i)
                        chosen = {"memory": memory, "block_every": ONSET_BLOCK_EVERY}
                        yield resolve_settings(task, params, chosen | drawn, seed=i)
            case "learned-writer":
                for task, row in RETURNS.items():
                    for place, block_every in enumerate(row.block_every):
                        chosen = {"block_every": block_every, **LEARNED_WRITER}
                        yield resolve_settings(task, None, chosen, seed=_seed(i, place))
            case "paper-search":
                for task in ONSET:
                    params = _easiest_params(task)
                    # Not from the defaults of `paper`, which are what this search has found.
                    chosen = {"block_every": ONSET_BLOCK_EVERY, **PAPER, **draw_paper_form(task, i)}
                    yield resolve_settings(task, params, chosen, seed=i)
            case "paper-form":
                # Gradients of a chain reach back a few steps, whatever block_every is.
                yield from _by_difficulty({}, paper=True, seed=i)
            case "writer-rates":
                params = envs.WORLDS["cued-catch"].load_params()(**SHORT_CATCH)
                for rate in WRITER_RATES:
                    chosen = {"writer_rate": rate}
                    yield resolve_settings("cued-catch", params, chosen, paper=True, seed=i)
            case "delays":
                for delay in DELAYS:
                    params = envs.WORLDS["delayed-cue"].load_params()(delay=delay)
                    for chosen, chrono in _DELAY_MEMORIES:
                        gates = {"longest_time": 2 * delay} if chrono else {}
                        yield resolve_settings("delayed-cue", params, chosen | gates, seed=i)


WRITER_RATES = (1.0, 0.1, 0.01, 0.0)
"""How fast the writer learns in the study writer-rates, as a factor of the learning rate."""
SHORT_CATCH = {"num_trials": 20, "reward_free_trials": 0}
"""Its world: a fifth of Cued Catch."""
DELAYS = (10, 30, 100, 300)
"""The delays of the study delays."""
# And whether gates have chrono initialisation, with times up to twice the delay. With a frozen
# writer block_every makes no difference to a chain.
_DELAY_MEMORIES: tuple[tuple[Overrides, bool], ...] = (
    ({"memory": "chain", "block_every": 3}, False),
    ({"memory": "lstm", "block_every": 3}, True),
    ({"memory": "lstm", "block_every": 300}, True),
    ({"memory": "lstm", "block_every": 3}, False),
    ({"memory": "lstm", "block_every": 300}, False),
)
FORGET_BIAS: Overrides = {"memory": "lstm", "longest_time": None}
"""The LSTM of the study forget-bias, whose forget gates begin with a bias of 1, as in most
libraries; all else as by default."""
GATED_VARIANTS: dict[str, Overrides] = {
    "learned torso": {"writer": "learned"},
    "256 units": {"hidden_size": 256},
    "2 copies": {"envs": 2},
    "last action and reward": {"read_last_step": True},
    "GRU": {"memory": "gru"},
}
"""What one agent of the study gated-variants has instead of the LSTM's defaults, by its name."""
LEARNED_WRITER: Overrides = {"memory": "chain", "writer": "learned", "writer_rate": 0.1}
"""The chain of the study learned-writer; all else as by default."""


def _check_among(name: str, values: tuple[int, ...], known: Iterable[tuple[int, ...]]) -> None:
    """Raise ValueError for a value that no study has."""
    allowed = sorted(set(itertools.chain(*known)))
    for value in values:
        if value not in allowed:
            numbers = ", ".join(map(str, allowed))
            raise ValueError(f"{name} has {value}: it must be among {numbers}")


def _easiest_params(task: str) -> "Params":
    """The parameters of a world of `ONSET` that every memory learns soon, with some settings: so
    a search shows what settings decide."""
    panel = ONSET[task]
    return envs.WORLDS[task].load_params()(**{panel.param: min(panel.values)})


def _difficulty(run: RunSettings) -> int | None:
    """What makes a world of `ONSET` difficult, else None."""
    panel = ONSET.get(run.env)
    return None if panel is None else getattr(run.params, panel.param)


def _seed(i: int, panel: int) -> int:
    """The seed of agent `i` in a panel of a row: with a frozen writer agents of one seed would be
    the same agent in several panels."""
    return 1000 * panel + i


def _by_difficulty(chosen: Overrides, *, paper: bool = False, seed: int) -> Iterator[RunSettings]:
    """One agent per difficulty of the worlds in `ONSET`, from easy to hard."""
    for task, panel in ONSET.items():
        make_params = envs.WORLDS[task].load_params()
        for value in reversed(panel.values):
            params = make_params(**{panel.param: value})
            yield resolve_settings(task, params, chosen, paper=paper, seed=seed)
