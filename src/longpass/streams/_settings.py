"""The settings of one run of sequence classification (the paper's section 5.1).

This file does not import JAX: the command line and the driver of a sweep read it.
"""

import dataclasses
import functools
import importlib.util
from typing import Annotated, Literal, get_args

from longpass import _checks
from longpass._fields import OPTIONS_FLAG, Added, Bounds, check_settings
from longpass._options import NO_OPTIONS, Options
from longpass._rates import MOST_POOLS
from longpass.memory import MemoryName, Normalise, has_pools, is_foreign
from longpass.streams._defaults import foreign_settings, memory_defaults

KIND = "stream"
"""The `kind` of records of sequence classification."""
PaperTask = Literal["two-markers", "three-markers", "subsequences"]
"""The tasks of the paper."""
TaskName = Literal["two-markers", "three-markers", "subsequences", "recall", "previous"]
"""All tasks: those of the paper, and two of first-order recall."""
LearnerName = Literal["jax", "native"]
"""What computes the updates of a run. Both compute the same, up to rounding."""
PAPER_SYMBOLS: dict[PaperTask, int] = {
    "two-markers": 40_000_000,
    "three-markers": 40_000_000,
    "subsequences": 100_000_000,
}
"""The number of symbols that the paper trains on, per task."""
_RECALL_SYMBOLS = 10_000_000
_RECALL_SPAN = 20

_MOST = 100_000  # of any size or number that memory grows with
_MOST_SYMBOLS = 10**11
_MOST_UPDATES = 2**31 - 1  # counters are of 32 bits
# Settings in which runs that are trained together may differ.
_FREE_IN_GROUP = ("seed", "learning_rate", "epsilon", "base")


@dataclasses.dataclass(frozen=True)
class StreamSettings:
    """One run: a task, a network, how it is trained, and a seed.

    Letters in parentheses are those of the paper's table.
    """

    task: TaskName = "two-markers"
    """The streams to classify."""
    memory: MemoryName = "chain"
    """The memory of the network: chain is the LP-RNN, parallel its control. Also
    package.module:factory, which is imported and called, or memax:NAME."""
    truncation: Annotated[int, Bounds(least=1, most=_MOST)] = 2
    """Steps that gradients reach back, and symbols of each stream in a minibatch (T)."""
    batch_size: Annotated[int, Bounds(least=1, most=_MOST)] = 32
    """Streams in a minibatch (B)."""
    symbols: int | float | None = None
    """Symbols to train on, over all streams. By default as many as in the paper: 4e7, for
    subsequences 1e8."""
    learning_rate: Annotated[float | None, Bounds(above=0.0)] = None
    """Adam's learning rate (paper: 5e-7 to 1e-3). The default depends on memory and
    minibatch."""
    epsilon: Annotated[float, Bounds(above=0.0)] = 1e-6
    """Adam's epsilon (paper: 5e-7 to 1e-3)."""
    hidden_size: Annotated[int, Bounds(least=1, most=_MOST)] = 64
    """Units of the layer below the logits: the summariser of pools, or a layer that reads another
    memory (M; paper: 16, 32, 64)."""
    pool_size: Annotated[int | None, Bounds(least=1, most=_MOST)] = None
    """Units of each pool (D; paper: 8 to 48). By default 24; chain and parallel only."""
    num_pools: Annotated[int | None, Bounds(least=1, most=MOST_POOLS)] = None
    """Number of pools (k; paper: 4 to 12). By default 12; chain and parallel only."""
    viewport_size: Annotated[int | None, Bounds(least=1, most=_MOST)] = None
    """Units of each viewport (V; paper: 4 to 16). By default 16; chain and parallel only."""
    base: Annotated[float | None, Bounds(above=1.0)] = None
    """Pool n has the rate base^-n (b; paper: 1.5, 2, 3). By default 1.5; chain and parallel
    only."""
    normalise: Normalise | None = None
    """Normalise each pool before its viewport: not at all (the paper), or layer; chain and parallel
    only."""
    state_size: Annotated[int | None, Bounds(least=1, most=_MOST)] = None
    """Units of a memory without pools, such as the LSTM (D; paper: 8 to 96). By default 32."""
    clear_state: bool = False
    """Clear the memory where a sequence starts. In the paper it is not cleared."""
    words_seed: Annotated[int | None, Bounds(most=_checks.MOST_SEED)] = None
    """Draw other words than ours with this seed; for the task subsequences only."""
    seed: Annotated[int, Bounds(most=_checks.MOST_SEED)] = 0
    """Seed of the weights and the streams."""
    memory_options: Annotated[Options, OPTIONS_FLAG, Added()] = NO_OPTIONS
    """Further arguments of the memory, such as hidden_size=16 for memax:LRU."""
    span: Annotated[int | None, Bounds(least=10), Added()] = None
    """Steps of the shortest sequences, which set the delay that must be remembered; the longest
    have a tenth more. By default 100, as in the paper, and 20 for recall and previous. Not for
    subsequences."""

    def resolved(self) -> "StreamSettings":
        """These settings, checked and complete.

        **Returns:** settings with every default filled in; what the memory does not have is None.
        ValueError or TypeError if a setting is not allowed.
        """
        check_settings(self)
        check_words_seed(self.task, self.words_seed)
        check_span(self.task, self.span)
        for name in foreign_settings(self.memory):
            if getattr(self, name) is not None:
                reason = "is made of pools" if self.has_pools else "has no pools"
                if is_foreign(self.memory):
                    reason = "is a factory: it takes memory_options"
                raise ValueError(
                    f"{name} is {getattr(self, name)!r}: it must be left out for {self.memory}, "
                    f"which {reason}"
                )
        defaults = memory_defaults(self.memory, self.minibatch)
        changes: dict[str, object] = {
            name: value for name, value in defaults.items() if getattr(self, name) is None
        }
        symbols = self.symbols
        if symbols is None:
            of_paper: dict[str, int] = {**PAPER_SYMBOLS}
            symbols = of_paper.get(self.task, _RECALL_SYMBOLS)
        changes["symbols"] = _checks.count("symbols", symbols, _MOST_SYMBOLS)
        if self.span is None and self.task not in PAPER_SYMBOLS:
            changes["span"] = _RECALL_SPAN
        complete = dataclasses.replace(self, **changes)
        if complete.updates == 0:
            raise ValueError(
                f"symbols is {complete.symbols}: it must be at least {self.minibatch}, one "
                f"minibatch of {self.batch_size} streams times {self.truncation} symbols"
            )
        if complete.updates > _MOST_UPDATES:
            raise ValueError(
                f"symbols is {complete.symbols}: it must be at most "
                f"{_MOST_UPDATES * self.minibatch}, 2^31 - 1 minibatches of {self.batch_size} "
                f"streams times {self.truncation} symbols"
            )
        return complete

    @property
    def has_pools(self) -> bool:
        """Whether the memory is made of pools."""
        return has_pools(self.memory)

    @property
    def minibatch(self) -> int:
        """Symbols in a minibatch."""
        return self.batch_size * self.truncation

    @property
    def updates(self) -> int:
        """Updates of the weights: only whole minibatches count."""
        assert isinstance(self.symbols, int), "only resolved settings have a number of updates"
        return self.symbols // self.minibatch

    @property
    def group_key(self) -> tuple[object, ...]:
        """The settings in which runs that are trained together must agree, hashable."""
        return tuple(
            getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.name not in _FREE_IN_GROUP
        )


def choose_learner(settings: StreamSettings, learner: LearnerName | None = None) -> LearnerName:
    """The learner of a run: the native one where it can be used.

    **Arguments:**

    - `settings`: of the run.
    - `learner`: take this one. ValueError if it cannot be used.

    **Returns:**

    Its name.
    """
    if learner is not None:
        _checks.one_of("learner", learner, get_args(LearnerName))
    known = settings.memory in ("chain", "parallel", "lstm") and settings.normalise is None
    known = known and not settings.memory_options
    known = known and settings.task in PAPER_SYMBOLS and settings.span is None
    if learner == "native" and not known:
        raise ValueError(
            "learner is 'native': it must be 'jax' for other memories than chain, parallel and "
            "lstm, for other tasks than those of the paper, and with normalise, memory_options or "
            "span"
        )
    if learner == "native" and not _numba_is_installed():
        raise ValueError(
            "learner is 'native', which needs Numba: it must be 'jax', or install longpass[native]"
        )
    return learner or ("native" if known and _numba_is_installed() else "jax")


@functools.cache
def _numba_is_installed() -> bool:
    return importlib.util.find_spec("numba") is not None


def check_words_seed(task: TaskName, words_seed: int | None) -> None:
    """ValueError if the task does not exist, or has no words and `words_seed` is not None."""
    _checks.one_of("task", task, get_args(TaskName))
    if words_seed is not None and task != "subsequences":
        raise ValueError(
            f"words_seed is {words_seed}: it must be left out for {task}, only the task "
            f"subsequences has words"
        )


def check_span(task: TaskName, span: int | None) -> None:
    """ValueError if the length of the task's sequences cannot be chosen and `span` is not None."""
    if span is not None and task == "subsequences":
        raise ValueError(f"span is {span}: it must be left out for subsequences, whose words last")
