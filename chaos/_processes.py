"""Commands in processes of their own, to be killed: begun quickly, watched, and ended for sure.

A command is a fork of this process, which has imported JAX and longpass but not used them: it has
no threads that a fork could hurt, and a command need not import for seconds. Each is the leader of
a session of its own, by which everything that it leaves behind is found.
"""

import atexit
import contextlib
import importlib
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

PRELOADED = {
    "longpass.streams": ("StreamTraining", "Sweep", "train_group"),
    "longpass.agents": ("Population", "train_agent", "train_round"),
    "longpass.records": ("Checkpoints", "RunFolder"),
    "longpass.jobs": ("LocalEngine",),
    "longpass.cli._classify": (),
    "longpass.cli._train": (),
    "longpass.cli._sweep": (),
    "longpass.cli._pbt": (),
    "longpass.cli._report": (),
    # Of what reports need, Polars is left out: it starts threads.
    "bokeh.embed": (),
    "matplotlib.figure": (),
    "scipy.stats": (),
}


def share_compiled_programs(folder: Path) -> None:
    """Let all commands keep and find compiled programs in one folder."""
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(folder))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")


def preload() -> None:
    """Import what commands need, once for all of them."""
    for module, names in PRELOADED.items():
        loaded = importlib.import_module(module)
        for name in names:
            getattr(loaded, name)
    if len(list(Path("/proc/self/task").iterdir())) > 1:
        raise RuntimeError("this process has threads, which a fork would lose")


class Victim:
    """A command that was started, to be killed or waited for.

    **Arguments:**

    - `words`: the words after `longpass`.
    - `log`: the file to which it prints.
    - `prepare`: called in its process before it begins.
    """

    def __init__(
        self, words: Sequence[object], log: Path, prepare: Callable[[], None] = lambda: None
    ):
        self.log = log
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            _become_command([str(word) for word in words], log, prepare)
        self.began = time.monotonic()
        # If the harness fails, nothing that it has started stays.
        atexit.register(self.kill)

    def status(self) -> int | None:
        """The exit status, negative for a signal; None while it runs."""
        if not hasattr(self, "_status"):
            pid, code = os.waitpid(self.pid, os.WNOHANG)
            if pid == 0:
                return None
            self._status = os.waitstatus_to_exitcode(code)
            atexit.unregister(self.kill)
        return self._status

    def wait(self, seconds: float = 300.0) -> int:
        """Wait for its end: the exit status. TimeoutError, and it is killed, if it takes longer."""
        until = time.monotonic() + seconds
        while (status := self.status()) is None:
            if time.monotonic() > until:
                self.kill()
                raise TimeoutError(f"a command took more than {seconds:.0f} s: see {self.log}")
            time.sleep(0.005)
        return status

    def kill(self) -> None:
        """kill -9, and wait for its end."""
        if self.status() is None:
            os.kill(self.pid, signal.SIGKILL)
            self.wait()

    def session(self) -> list[int]:
        """The processes of its session that run, itself included."""
        return [pid for pid, session in _sessions() if session == self.pid]

    def orphans(self, seconds: float = 60.0) -> list[int]:
        """Processes that still run this long after its end. They are killed then."""
        until = time.monotonic() + seconds
        while (left := self.session()) and time.monotonic() < until:
            time.sleep(0.05)
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return left

    def text(self) -> str:
        """What it has printed."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""


def descendants(pid: int) -> list[int]:
    """The processes that a process has started, directly or not, and that have not ended."""
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (path / "stat").read_text().rsplit(")", 1)[1].split()[:2]
        except OSError:
            continue
        if state != "Z":
            parents.setdefault(int(parent), []).append(int(path.name))
    found, waiting = [], [pid]
    while waiting:
        below = parents.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def _become_command(words: list[str], log: Path, prepare: Callable[[], None]) -> None:
    """Run the command in this process, and end it."""
    code = 1
    try:
        os.setsid()
        handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        for stream in (1, 2):
            os.dup2(handle, stream)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(kind, signal.SIG_DFL)
        sys.argv = ["longpass", *words]
        prepare()
        from longpass.__main__ import main

        main()
        code = 0
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _sessions() -> Iterator[tuple[int, int]]:
    """(Process, session) of all processes that have not ended."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            state, _, _, session = (path / "stat").read_text().rsplit(")", 1)[1].split()[:4]
        except OSError:
            continue
        if state != "Z":
            yield int(path.name), int(session)
