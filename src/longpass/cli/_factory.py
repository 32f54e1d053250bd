"""Checking factories of other packages before a command trains with what they make."""

from rich.console import Console

from longpass._options import Options


def check_factory(console: Console, memory: str, options: Options) -> None:
    """ValueError that names the law that the memory breaks. Our own are not checked.

    **Arguments:**

    - `console`: for the status, while it is checked.
    - `memory`: its name.
    - `options`: of the factory.
    """
    if ":" not in memory:
        return
    from longpass import testing

    with console.status(f"checking {memory}"):
        testing.check_factory(memory, options)
