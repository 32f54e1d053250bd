"""The settings of one run of sequence classification, named as in the paper's table."""

import dataclasses
from typing import Any, get_args

from longpass import _checks
from longpass.memory import Normalise
from longpass.networks import Family
from longpass.tasks import Task, TaskName, make

_POOLED = ("chain", "parallel")


@dataclasses.dataclass(frozen=True)
class Settings:
    """One run: a task, a network, a regime and a seed. None takes the default of task or memory."""

    task: TaskName = "two-markers"
    """Which streams to classify."""
    memory: Family = "chain"
    """What remembers: chain is the LP-RNN, parallel its control."""
    truncation: int = 2
    """Steps that gradients reach back, and symbols of each stream in a minibatch."""
    batch_size: int = 32
    """Streams that are read side by side."""
    symbols: int | None = None
    """Symbols to train on, over all streams. By default the paper's: 4e7, subsequences 1e8."""
    learning_rate: float = 5e-4
    """Adam's learning rate (paper: 5e-7 to 1e-3)."""
    epsilon: float = 1e-6
    """Adam's epsilon (paper: 5e-7 to 1e-3)."""
    M: int = 32
    """Units of the hidden layer (paper: 16, 32, 64)."""
    D: int | None = None
    """Size of a pool (paper: 8 to 48; by default 24) or of the LSTM or GRU (8 to 96; 32)."""
    k: int | None = None
    """Pools (paper: 4 to 12; by default 8)."""
    V: int | None = None
    """Units of a viewport (paper: 4 to 16; by default 10)."""
    b: float | None = None
    """Base of the pools' rates (paper: 1.5, 2, 3; by default 2)."""
    normalise: Normalise | None = None
    """Pools before their viewports: none (the paper) or layer."""
    clear_state: bool = False
    """Clear the memory where sequences start. The paper's is carried on."""
    words_seed: int | None = None
    """Draw other words for the task subsequences than ours."""
    seed: int = 0
    """Of weights and streams."""

    def resolved(self) -> "Settings":
        """These settings checked, with every default filled in; what does not apply stays None."""
        _checks.one_of("memory", self.memory, get_args(Family))
        task = make(self.task, self.words_seed)
        pooled = self.memory in _POOLED
        for name in ("k", "V", "b", "normalise"):
            if not pooled and getattr(self, name) is not None:
                raise ValueError(
                    f"{name} is {getattr(self, name)!r}: only the memories chain and parallel "
                    f"have pools, not {self.memory}"
                )
        defaults: dict[str, Any] = {"symbols": task.symbols, "D": 24 if pooled else 32}
        if pooled:
            defaults |= {"k": 8, "V": 10, "b": 2.0, "normalise": "none"}
        missing = {name: value for name, value in defaults.items() if getattr(self, name) is None}
        whole = dataclasses.replace(self, **missing)
        whole._check()
        return whole

    def _check(self) -> None:
        for name in ("truncation", "batch_size", "symbols", "M", "D"):
            _checks.positive_int(name, getattr(self, name))
        _checks.int_within("seed", self.seed, 0, 2**32 - 1)
        _checks.real("learning_rate", self.learning_rate, above=0.0)
        _checks.real("epsilon", self.epsilon, above=0.0)
        if self.memory in _POOLED:
            _checks.positive_int("k", self.k)
            _checks.positive_int("V", self.V)
            _checks.real("b", self.b, above=1.0)
            _checks.one_of("normalise", self.normalise, get_args(Normalise))
        if self.updates == 0:
            raise ValueError(
                f"symbols is {self.symbols}: it must be at least {self.minibatch}, one minibatch "
                f"of {self.batch_size} streams times {self.truncation} symbols"
            )

    @property
    def minibatch(self) -> int:
        """Symbols in a minibatch."""
        return self.batch_size * self.truncation

    @property
    def updates(self) -> int:
        """Updates of the weights: only whole minibatches count."""
        assert self.symbols is not None
        return self.symbols // self.minibatch

    def make_task(self) -> Task:
        """The task that is named here."""
        return make(self.task, self.words_seed)

    def to_dict(self) -> dict[str, Any]:
        """What applies to this run, as JSON can hold it."""
        return {
            name: value for name, value in dataclasses.asdict(self).items() if value is not None
        }
