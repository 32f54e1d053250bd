"""Progress for TensorBoard, trackio or Weights & Biases, beside a run's own records."""

import contextlib
import importlib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, Protocol

from longpass._extras import explain_missing
from longpass._json import JsonObject

LoggerName = Literal["tensorboard", "trackio", "wandb"]


class Logger(Protocol):
    """Where progress goes."""

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Log some values at a step of the environment."""
        ...


def load_library(name: LoggerName) -> Any:
    """Import what a logger needs. ModuleNotFoundError names the extra that is missing."""
    try:
        return importlib.import_module("tensorboardX" if name == "tensorboard" else name)
    except ModuleNotFoundError as error:
        raise explain_missing(error, f"--log {name}") from error


@contextlib.contextmanager
def open_logger(name: LoggerName, out: Path, settings: JsonObject) -> Iterator[Logger]:
    """Log to one of them until the block ends.

    **Arguments:**

    - `name`: which one.
    - `out`: the run's folder, which the run is named after. Files go there, except trackio's, which
      keeps them in its own folder.
    - `settings`: the run's settings, which the run is shown with.

    **Returns:** a context manager that gives the logger.
    """
    module = load_library(name)
    if name == "tensorboard":
        with module.SummaryWriter(str(out / "tensorboard")) as writer:
            yield _TensorBoard(writer)
        return
    # Standard output is for results: these libraries print there.
    place: dict[str, Any] = {"dir": out} if name == "wandb" else {"auto_log_cpu": False}
    with contextlib.redirect_stdout(sys.stderr):
        try:
            module.init(project="longpass", name=out.name, config=settings, **place)
        except Exception as error:
            # They raise errors of kinds of their own, such as without a login.
            raise ValueError(f"log is {name!r}, which does not start: {error}") from error
    try:
        yield module
    finally:
        with contextlib.redirect_stdout(sys.stderr):
            module.finish()


class _TensorBoard:
    def __init__(self, writer: Any):
        self._writer = writer

    def log(self, values: Mapping[str, float], step: int) -> None:
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)
        self._writer.flush()
