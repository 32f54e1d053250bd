"""The settings of one run of sequence classification, named as in the paper's table."""

import dataclasses
from typing import Any, get_args

from longpass import _checks
from longpass._names import NormaliseFlag
from longpass._settings import StreamFields
from longpass.networks import MemoryName
from longpass.streams._stream import Task
from longpass.streams._tasks import make

_POOLED = ("chain", "parallel")


@dataclasses.dataclass(frozen=True)
class StreamSettings(StreamFields):
    """One run: a task, a network, a regime and a seed (see `StreamFields`)."""

    def resolved(self) -> "StreamSettings":
        """These settings checked, with every default filled in; what does not apply stays None."""
        _checks.one_of("memory", self.memory, get_args(MemoryName))
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
            defaults |= {"k": 12, "V": 16, "b": 1.5, "normalise": "none"}
        missing = {name: value for name, value in defaults.items() if getattr(self, name) is None}
        if self.symbols is not None:
            missing["symbols"] = _checks.count("symbols", self.symbols)
        whole = dataclasses.replace(self, **missing)
        whole._check()
        return whole

    def _check(self) -> None:
        for name in ("truncation", "batch_size", "M", "D"):
            _checks.positive_int(name, getattr(self, name))
        _checks.int_within("seed", self.seed, 0, 2**32 - 1)
        _checks.real("learning_rate", self.learning_rate, above=0.0)
        _checks.real("epsilon", self.epsilon, above=0.0)
        if self.memory in _POOLED:
            _checks.positive_int("k", self.k)
            _checks.positive_int("V", self.V)
            _checks.real("b", self.b, above=1.0)
            _checks.one_of("normalise", self.normalise, get_args(NormaliseFlag))
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
        assert isinstance(self.symbols, int), "only resolved settings know how many"
        return self.symbols // self.minibatch

    def make_task(self) -> Task:
        """The task that is named here."""
        return make(self.task, self.words_seed)

    def to_dict(self) -> dict[str, Any]:
        """What applies to this run, as JSON can hold it."""
        return {
            name: value for name, value in dataclasses.asdict(self).items() if value is not None
        }
