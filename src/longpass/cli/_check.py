"""`longpass check`."""

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from rich.console import Console

from longpass._fields import OPTIONS_FLAG
from longpass._json import JsonObject
from longpass._options import NO_OPTIONS, Options

if TYPE_CHECKING:
    from longpass.testing import Report


@dataclasses.dataclass
class Check:
    """Check a memory against the contract: starts on time, packed is separate, cut is whole, ...

    MEMORY is one of ours by name, memax:NAME, or package.module:factory. A factory is code that you
    name: it is imported and called, as factory(input_size, key=..., **options). With --torch it is
    called as factory(input_size, **options) and makes a module like nn.GRU; torch.nn:GRU will do.

      longpass check chain
      longpass check memax:LRU --memory-options hidden_size=16
      longpass check my_project.memories:make_memory
      longpass check torch.nn:LSTM --torch --memory-options hidden_size=8

    Exit status: 0 if no law is broken, else 1.
    """

    memory: tyro.conf.Positional[str]
    """What to check."""
    torch: bool = False
    """Check a module of PyTorch."""
    input_size: int = 4
    """Width of the input that the memory is made for."""
    length: int = 150
    """Steps of the longest sequences. A form that works in chunks needs longer ones than those."""
    seed: int = 0
    """Seed of weights and inputs."""
    memory_options: Annotated[Options, OPTIONS_FLAG] = NO_OPTIONS
    """Further arguments of the factory."""
    json: bool = False
    """Print one JSON object on standard output, and nothing else there."""

    def run(self, console: Console) -> JsonObject:
        """Check, and print the table; what `--json` prints."""
        from longpass import _checks

        _checks.int_within("length", self.length, 2, None)
        _checks.seed("seed", self.seed)
        with console.status(f"checking {self.memory}"):
            report = self._check_module() if self.torch else self._check_memory()
        console.print(report)
        return {"command": "check", **report.to_json(), "memory": self.memory}

    def _check_memory(self) -> "Report":
        import jax

        from longpass.networks import make_memory
        from longpass.testing import check_memory

        key = jax.random.key(self.seed)
        memory = make_memory(
            self.memory, self.input_size, 8, key=key, memory_options=self.memory_options
        )
        return check_memory(memory, length=self.length, seed=self.seed)

    def _check_module(self) -> "Report":
        import torch

        from longpass._factories import load_factory
        from longpass.testing import check_module

        torch.manual_seed(self.seed)
        factory: Any = load_factory(self.memory)
        try:
            module = factory(self.input_size, **self.memory_options.values_by_name)
        except Exception as error:
            # Somebody else's factory may raise anything.
            words = ", ".join(["", *self.memory_options.words()])
            raise ValueError(
                f"memory is {self.memory!r}: factory({self.input_size}{words}) raises "
                f"{type(error).__name__}: {error}"
            ) from error
        return check_module(module, input_size=self.input_size, length=self.length, seed=self.seed)
