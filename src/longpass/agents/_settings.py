"""The settings of an agent, of a run and of a population. Each is declared once, here.

The command line, the checks, the records and the tables in the documentation are derived from
these classes. Nothing here imports JAX.
"""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from longpass import _checks, envs
from longpass._fields import OPTIONS_FLAG, Added, Bounds, check_settings, from_json, to_json
from longpass._json import JsonObject
from longpass._options import NO_OPTIONS, Options
from longpass._rates import MOST_POOLS
from longpass.memory import MemoryName, Normalise, has_gates, has_pools
from longpass.networks import Embedding, Writer
from longpass.records import SETTINGS, read_json

if TYPE_CHECKING:
    from longpass.envs import AnyEnvironment

KIND = "agent"
"""The kind of run, as `settings.json` and the records have it."""
RECENT = 3000
"""A run's result is the mean return of its last `RECENT` episodes, as in the paper."""

_MOST_SLICES = 5
_MOST = 100_000  # of any size or number that memory grows with
Optimiser = Literal["adam", "rmsprop"]
OptimiserState = Literal["fresh", "copied", "own"]


@dataclasses.dataclass(frozen=True)
class NetworkSettings:
    """The network of an agent: a torso, a memory and two heads."""

    memory: MemoryName = "chain"
    """The memory: chain is the LP-RNN, parallel its control. Also package.module:factory, which is
    imported and called, or memax:NAME."""
    num_pools: Annotated[int | None, Bounds(least=1, most=MOST_POOLS)] = None
    """Number of pools (chain, parallel). None: the fewest that reach the memory span of the task,
    plus extra_pools."""
    extra_pools: Annotated[int, Bounds(least=0, most=MOST_POOLS)] = 0
    """Pools beyond the fewest that reach the memory span, if num_pools is None. With layer
    normalisation, slower pools hold the oldest events most clearly."""
    pool_size: Annotated[int, Bounds(least=1, most=_MOST)] = 198
    """Units of a pool."""
    viewport_size: Annotated[int, Bounds(least=1, most=_MOST)] = 32
    """Units of the viewport through which each pool is read."""
    output_size: Annotated[int, Bounds(least=1, most=_MOST)] = 128
    """Units of the layer that summarises the viewports."""
    hidden_size: Annotated[int, Bounds(least=1, most=_MOST)] = 128
    """Units of a memory without pools. An LSTM of 128 units has about as many parameters as a chain
    of 9 pools."""
    forget_bias: Annotated[float, Bounds(least=-100.0, most=100.0), Added()] = 1.0
    """Initial bias of the gates that keep the state (lstm, gru). With bias b they keep it for about
    1 + exp(b) steps."""
    longest_time: Annotated[int | None, Bounds(least=3, most=10**9), Added()] = None
    """Chrono initialisation (lstm, gru): gates begin with times, in steps, drawn evenly up to this
    one. None: all gates have forget_bias."""
    read_last_step: Annotated[bool, Added()] = False
    """Whether the memory reads the last action and the last reward beside the embedding."""
    writer: Writer = "learned"
    """How the weights that write into the memory (the torso and the input matrix of the pools) are
    trained: like all others (the paper), not at all (frozen), or as an exponential average of
    trained weights (slow)."""
    embedding: Embedding = "plain"
    """How the torso starts: with random weights (plain, the paper), adapted to a sample of frames
    so that few units are active (sparse), or sparse with each unit's mean subtracted (centred)."""
    threshold: float = 1.0
    """For sparse and centred: activation threshold, in standard deviations above a unit's mean."""
    normalise: Normalise | None = None
    """Normalisation of each pool before it is read: None (the paper) or layer. Only chain and
    parallel have it."""
    logit_scale: Annotated[float, Bounds(least=0.0)] = 0.01
    """Scale of the policy's initial weights. With a larger one the first policy is less even."""
    memory_options: Annotated[Options, OPTIONS_FLAG, Added()] = NO_OPTIONS
    """Further arguments of the memory, such as hidden_size=64 for memax:LRU."""

    def __post_init__(self) -> None:
        check_settings(self)
        if self.normalise is not None and not self.has_pools:
            raise ValueError(
                f"normalise is {self.normalise!r}: it must be None for {self.memory}, which has no "
                f"pools"
            )
        if self.longest_time is not None and not self.has_gates:
            raise ValueError(
                f"longest_time is {self.longest_time}: it must be None for {self.memory}, which "
                f"has no gates"
            )

    @property
    def has_gates(self) -> bool:
        """Whether the memory has gates."""
        return has_gates(self.memory)

    @property
    def has_pools(self) -> bool:
        """Whether the memory is made of pools."""
        return has_pools(self.memory)


@dataclasses.dataclass(frozen=True)
class LearnerSettings:
    """How an agent acts and learns. A learner is compiled for these settings.

    `rollout`, `block_every` and `horizon` are three settings that most libraries merge: how much is
    played between updates, how far gradients reach back through the memory, and how far V-trace
    looks ahead.
    """

    envs: Annotated[int, Bounds(least=1, most=_MOST)] = 8
    """Copies of the environment. With fewer copies there are more updates per environment step."""
    rollout: Annotated[int, Bounds(least=1, most=_MOST)] = 300
    """Steps that each copy plays between updates."""
    slices: Annotated[int | None, Bounds(least=1, most=_MOST)] = None
    """Number of parts of equal length into which a rollout is cut, with one step of the optimiser
    per part. The memory's state is carried over to the next part; gradients and targets are not.
    None: the most, up to 5, that divide the rollout and are not shorter than block_every."""
    minibatches: Annotated[int, Bounds(least=1, most=_MOST), Added()] = 1
    """Number of groups of equal size into which the copies are divided. Each group is learned from
    by itself, one after the other."""
    epochs: Annotated[int, Bounds(least=1, most=_MOST), Added()] = 1
    """How often each rollout is learned from. V-trace corrects for actions of older weights. The
    memory's state before the first step is always that of the weights that acted."""
    block_every: Annotated[int, Bounds(least=1, most=_MOST)] = 20
    """Gradients through the memory's state are stopped every block_every steps."""
    horizon: Annotated[int | None, Bounds(least=1, most=_MOST)] = None
    """Number of steps after which V-trace's targets are cut; None: the end of the slice."""
    lag: Annotated[int, Bounds(least=0, most=1000)] = 0
    """Number of updates by which the weights that act are behind."""
    optimiser: Optimiser = "adam"
    """The optimiser."""
    lambda_: Annotated[float, Bounds(least=0.0, most=1.0)] = 1.0
    """V-trace's lambda: below 1, errors of later steps count less."""
    clip_rho: Annotated[float, Bounds(least=0.0)] = 1.0
    """V-trace's rho-bar."""
    clip_c: Annotated[float, Bounds(least=0.0)] = 1.0
    """V-trace's c-bar."""
    slow_rate: Annotated[float, Bounds(above=0.0, most=1.0)] = 0.001
    """For the slow writer: rate of the exponential average, per step of the optimiser."""
    stagger: Annotated[int, Bounds(least=1, most=10**6)] = 1000
    """Copies begin after up to this many steps of random play, so that their episodes do not all
    end together. Episodes begun that way are not counted."""
    updates_per_call: Annotated[int, Bounds(least=1, most=_MOST)] = 40
    """Updates per compiled call. Each call gives one record; checkpoints lie between calls."""

    def __post_init__(self) -> None:
        check_settings(self)
        if self.rollout % self.num_slices:
            raise ValueError(
                f"slices is {self.slices}: it must divide the rollout, which is {self.rollout}"
            )
        if self.envs % self.minibatches:
            raise ValueError(
                f"minibatches is {self.minibatches}: it must divide envs, which is {self.envs}"
            )
        for name in ("block_every", "horizon"):
            value = getattr(self, name)
            if value is not None and value > self.slice_steps:
                raise ValueError(
                    f"{name} is {value}: it must be at most {self.slice_steps}, the steps of a "
                    f"slice (rollout {self.rollout} in {self.num_slices} slices)"
                )

    @property
    def num_slices(self) -> int:
        """`slices`, or if it is None the number that it stands for."""
        if self.slices is not None:
            return self.slices
        numbers = range(1, _MOST_SLICES + 1)
        fits = [
            n for n in numbers if self.rollout % n == 0 and self.rollout // n >= self.block_every
        ]
        return max(fits, default=1)

    @property
    def slice_steps(self) -> int:
        """Steps of a slice."""
        return self.rollout // self.num_slices

    @property
    def steps(self) -> int:
        """Environment steps per update."""
        return self.envs * self.rollout

    @property
    def optimiser_steps(self) -> int:
        """Steps of the optimiser per update."""
        return self.epochs * self.minibatches * self.num_slices


@dataclasses.dataclass(frozen=True)
class HyperParams:
    """What the members of a population may differ in.

    Nothing is compiled for these values: the learner takes them as arrays, in this same class (see
    `hyper_arrays`), and a population may be a `vmap` over them.
    """

    learning_rate: Annotated[float, Bounds(least=0.0)] = 1e-3
    """Learning rate of the optimiser."""
    entropy_cost: Annotated[float, Bounds(least=0.0)] = 2e-3
    """Weight of the policy's entropy in the loss."""
    discount: Annotated[float, Bounds(least=0.0, most=1.0)] = 0.99
    """Discount of rewards per step."""
    epsilon: Annotated[float, Bounds(above=0.0)] = 1e-6
    """adam: added to the root mean square of the gradient; rmsprop: added to the mean square,
    inside the root, as in IMPALA. With a larger one, updates are small where gradients are (IMPALA:
    0.1)."""
    clip_norm: Annotated[float, Bounds(above=0.0)] = 1.0
    """Gradients are scaled down to this global norm."""
    baseline_cost: Annotated[float, Bounds(least=0.0)] = 0.5
    """Weight of the value's loss, which is half its squared error."""
    writer_rate: Annotated[float, Bounds(least=0.0), Added()] = 1.0
    """Factor of the learning rate for the weights that write into the memory, if they are learned:
    1 is the paper's, at 0 they stay as they are."""
    lr_halvings_per_million_steps: Annotated[float, Bounds(least=0.0)] = 0.0
    """How often the learning rate is halved per million environment steps."""
    entropy_halvings_per_million_steps: Annotated[float, Bounds(least=0.0), Added()] = 0.0
    """How often the entropy's weight is halved per million environment steps."""
    reward_scale: Annotated[float, Bounds(above=0.0)] = 1.0
    """Factor of rewards in learning. The other settings suit values of about 1."""

    def __post_init__(self) -> None:
        check_settings(self)


@dataclasses.dataclass(frozen=True)
class AgentSettings:
    """An agent: its network, how it learns, and its hyper-parameters."""

    network: NetworkSettings = dataclasses.field(default_factory=NetworkSettings)
    learner: LearnerSettings = dataclasses.field(default_factory=LearnerSettings)
    hyper: HyperParams = dataclasses.field(default_factory=HyperParams)


@dataclasses.dataclass(frozen=True)
class RunSettings:
    """Everything that the results of a run depend on. `resolve_settings` makes a complete one."""

    env: str
    """The name of a world (see `longpass.envs.names`), or the id of a Gymnasium environment."""
    params: Any = dataclasses.field(default_factory=dict)
    """The parameters of the world; for a Gymnasium environment a dict of keyword arguments."""
    agent: AgentSettings = dataclasses.field(default_factory=AgentSettings)
    """The agent."""
    seed: Annotated[int, Bounds(most=_checks.MOST_SEED)] = 0
    """Seed of weights, environments and actions."""

    def __post_init__(self) -> None:
        check_settings(self)
        if self.is_gymnasium and not isinstance(self.params, dict):
            raise TypeError(f"params is {self.params!r}: it must be a dict for {self.env}")

    @property
    def is_gymnasium(self) -> bool:
        """Whether the environment is one of Gymnasium."""
        return self.env not in envs.WORLDS

    @property
    def title(self) -> str:
        """The name of the environment for people."""
        return self.env if self.is_gymnasium else self.load_environment().title

    def load_environment(self) -> "AnyEnvironment":
        """The environment of a run on one of our worlds. This imports JAX."""
        return envs.WORLDS[self.env].load_environment()

    def max_return(self) -> float | None:
        """The highest possible mean return, if it is known."""
        return None if self.is_gymnasium else self.load_environment().max_score(self.params)

    def to_json(self) -> JsonObject:
        """The settings as JSON can hold them."""
        return to_json(self)

    @classmethod
    def from_json(cls, values: JsonObject) -> "RunSettings":
        """The settings that `to_json` was given. ValueError if a key is unknown or missing."""
        params, given = values.get("params"), dict(values)
        world = envs.WORLDS.get(values.get("env", ""))
        if world is not None:
            params = from_json(world.load_params(), params)
        return dataclasses.replace(from_json(cls, given), params=params)


def holds_agent(folder: Path) -> bool:
    """Whether a folder holds a run of an agent.

    **Arguments:**

    - `folder`: any folder.

    **Returns:**

    True if its settings are those of an agent.
    """
    path = Path(folder) / SETTINGS
    return path.is_file() and read_json(path, "the settings of a run").get("kind") == KIND


def load_settings(folder: Path, name: str = "RUN") -> RunSettings:
    """The settings of the run in a folder. ValueError if there is none.

    **Arguments:**

    - `folder`: of a run, or of a member of a population.
    - `name`: what the user calls the folder, for messages.

    **Returns:**

    The settings.
    """
    path = Path(folder) / SETTINGS
    if not path.is_file():
        raise ValueError(
            f"{name} is {str(folder)!r}: it must be the folder of a run, with {SETTINGS} in it"
        )
    values = read_json(path, "the settings of a run")
    kind = values.pop("kind", None)
    if kind != KIND:
        raise ValueError(
            f"{name} is {str(folder)!r}: it must be a run of an agent, not of {kind!r}"
        )
    try:
        return RunSettings.from_json(values)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} is damaged or of another version ({error})") from None


@dataclasses.dataclass(frozen=True)
class PopulationSettings:
    """Population based training, as the paper adapts it: weights are copied, hyper-parameters are
    not."""

    size: Annotated[int, Bounds(least=1, most=10_000), tyro.conf.arg(name="members")] = 9
    """Number of agents. The first has the settings as given; those of the others are drawn around
    them."""
    rounds: Annotated[int, Bounds(least=1, most=10**6)] = 5
    """Rounds of training. Between two rounds, members may copy each other's weights."""
    episodes: Annotated[int, Bounds(least=1, most=10**9)] = 30_000
    """Episodes per member and round."""
    window: Annotated[int, Bounds(least=2, most=RECENT)] = RECENT
    """Number of episodes, the last of a round, whose scores are compared."""
    significance: Annotated[float, Bounds(least=0.0, most=1.0)] = 0.05
    """A higher mean counts as better if the p-value of the t-test is below this."""
    optimiser_state: OptimiserState = "fresh"
    """The optimiser's state of a member that copies weights: fresh, copied too, or its own."""

    def __post_init__(self) -> None:
        check_settings(self)
        if self.window > self.episodes:
            raise ValueError(
                f"window is {self.window}: it must be at most {self.episodes}, the episodes of a "
                f"round"
            )


@dataclasses.dataclass(frozen=True, kw_only=True)
class PopulationPlan(PopulationSettings):
    """A population, complete. A population of one is a single run, to the bit."""

    run: RunSettings
    """What all members share; its seed is the population's."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.run.is_gymnasium:
            raise ValueError(
                f"env is {self.run.env!r}: it must be one of {', '.join(envs.names())}, because a "
                f"Gymnasium environment cannot be saved between rounds"
            )
