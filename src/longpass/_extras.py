"""Optional dependencies: which extra installs them, and packages that are loaded on first use.

`pip install longpass` installs what the memories need. Everything else comes with an extra; where
one is missing, the error says which.
"""

from collections.abc import Callable
from typing import Any

import lazy_loader

EXTRAS = {
    "optax": "train",
    "scipy": "train",
    "tyro": "train",
    "matplotlib": "figures",
    "PIL": "figures",
    "polars": "figures",
    "rich": "cli",
    "gymnasium": "gym",
    "numba": "native",
    "threadpoolctl": "native",
    "ray": "ray",
    "tensorboardX": "tensorboard",
    "trackio": "trackio",
    "wandb": "wandb",
    "torch": "torch",
    "bokeh": "web",
    "orjson": "web",
    "sb3_contrib": "rl",
}
"""The extra of longpass that installs a module, by the module's name."""
# What needs more than one module of an extra, by how its name begins: the extra that has them all.
_USERS = {
    "the command line": "cli",
    "longpass.claims": "figures",
    "longpass.figures": "figures",
    "longpass.report": "web",
    "the report": "web",
}
_TOGETHER = ("train", "figures", "cli")  # extras that those of _USERS include


def explain_missing(error: ModuleNotFoundError, user: str) -> ModuleNotFoundError:
    """The error that says which extra is missing.

    **Arguments:**

    - `error`: what Python raised.
    - `user`: what needs the module, such as `longpass.streams` or `--gym`.

    **Returns:** an error to raise from it; `error` itself if no extra has the module.
    """
    module = (error.name or "").partition(".")[0]
    if module not in EXTRAS:
        return error
    extra = EXTRAS[module]
    if extra in _TOGETHER:
        extra = next((one for name, one in _USERS.items() if user.startswith(name)), extra)
    message = f"{user} needs {module}: pip install 'longpass[{extra}]'"
    return ModuleNotFoundError(message, name=error.name, path=error.path)


def attach_stub(
    package: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Load the names that a package's `__init__.pyi` lists on first use.

    **Arguments:**

    - `package`: the package's `__name__`.
    - `file`: its `__file__`.

    **Returns:** its `__getattr__`, `__dir__` and `__all__`. A missing extra is named.
    """
    load, list_names, names = lazy_loader.attach_stub(package, file)

    def load_or_explain(name: str) -> Any:
        try:
            return load(name)
        except ModuleNotFoundError as error:
            raise explain_missing(error, f"{package}.{name}") from error

    return load_or_explain, list_names, names
