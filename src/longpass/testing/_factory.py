"""A quick check of a factory of another package, before anything is trained with it."""

import jax

from longpass._options import Options
from longpass.memory import is_foreign, make_foreign
from longpass.testing._memory import check_memory

_INPUT_SIZE = 4
_LENGTH = 12


def check_factory(memory: str, options: Options) -> None:
    """ValueError that names the law that what a factory makes breaks, if it breaks one.

    Memories of our own are not checked: the tests do that.

    **Arguments:**

    - `memory`: its name, such as `package.module:factory`.
    - `options`: of the factory.
    """
    if not is_foreign(memory):
        return
    made = make_foreign(memory, _INPUT_SIZE, key=jax.random.key(0), options=options.values_by_name)
    report = check_memory(made, length=_LENGTH, stop=True)
    for result in report.failures:
        raise ValueError(
            f"memory is {memory!r}, which breaks the contract of a memory ({result.law}). "
            f"{result.meaning}\n{result.example}\n"
            f"`longpass check {memory}` checks all laws"
        )
