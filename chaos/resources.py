"""No room, no right to write, no file descriptors, no memory: a message, and the last good state.

Disks that are full are small file systems in memory; where mounting is not permitted, a limit on
the size of files takes their place. A folder becomes read-only by a mount on top of it.
"""

import contextlib
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from chaos._commands import COMMANDS
from chaos._folders import name_difference, read_folder
from chaos._processes import Victim, preload
from chaos._rows import Row

_FULL = (0.02, 0.3, 0.6, 0.9)  # of what a run needs
_DESCRIPTORS = (6, 9, 14)
_MEMORY = 1 << 30  # less than a worker needs, which reserves gigabytes


def run(seconds: float, seed: int, scratch: Path, names: tuple[str, ...] = ()) -> list[Row]:
    """One row per command and resource.

    **Arguments:**

    - `seconds`: no new row is begun after this time.
    - `seed`: nothing is drawn here.
    - `scratch`: a folder for the runs.
    - `names`: of the commands; none: all.
    """
    preload()
    until = time.monotonic() + seconds
    mounting = _may_mount(scratch)
    if not mounting:
        sys.stderr.write("resources: mounting is not permitted; no folder is made read-only\n")
    rows = []
    for name in names or COMMANDS:
        if time.monotonic() > until:
            sys.stderr.write(f"resources: no time was left for {name}\n")
            continue
        twin = Victim(COMMANDS[name].words(scratch / f"{name}-twin"), scratch / f"{name}-twin.log")
        if twin.wait(600) != 0:
            raise RuntimeError(f"the unharmed {name} failed:\n{twin.text()[-2000:]}")
        tries = Tries(name, scratch / name, read_folder(scratch / f"{name}-twin"))
        needed = _bytes_in(scratch / f"{name}-twin")
        rows.append(tries.row("no room on the disk", _full_disks(tries, needed, mounting)))
        rows.append(tries.row("no file descriptors", _few_descriptors(tries)))
        if mounting and COMMANDS[name].begun is not None:
            rows.append(tries.row("folder made read-only", [_read_only(tries)]))
        if name in ("sweep", "pbt"):
            rows.append(tries.row("no memory in a worker", [_little_memory(tries)]))
    return rows


class Tries:
    """Commands under a limit, and again without it.

    **Arguments:**

    - `name`: of the command.
    - `scratch`: a folder for the runs.
    - `expected`: what an unharmed run leaves.
    """

    def __init__(self, name: str, scratch: Path, expected: dict[str, Any]):
        self.command, self._scratch, self._expected = COMMANDS[name], scratch, expected
        self._number = 0
        scratch.mkdir()

    def new_folder(self) -> Path:
        """A folder for the next try."""
        self._number += 1
        out = self._scratch / f"run-{self._number}"
        out.mkdir()
        return out

    def start(self, out: Path, prepare: Callable[[], None] = lambda: None) -> Victim:
        """Start the command in a folder."""
        return Victim(self.command.words(out), out.with_suffix(".log"), prepare)

    def judge(self, victim: Victim, *, may_finish: bool = False) -> str | None:
        """What is wrong with how a command ended under a limit; None if nothing is."""
        status, text = victim.wait(), victim.text()
        victim.orphans()
        if may_finish and status == 0:
            return None
        if "Traceback" in text:
            return f"a traceback: {text.strip().splitlines()[-1]}"
        if status != 1:
            return f"exit status {status}: {text[-200:]}"
        return None if "longpass: " in text else f"no message: {text[-200:]}"

    def resume(self, out: Path) -> str | None:
        """What is wrong with what the command leaves once there is no limit; None if nothing is."""
        again = self.start(out)
        if again.wait() != 0:
            return f"it could not be resumed: {again.text()[-200:]}"
        return name_difference(read_folder(out), self._expected)

    def row(self, fault: str, problems: list[str | None]) -> Row:
        """The table's row."""
        wrong = [problem for problem in problems if problem]
        for problem in wrong:
            sys.stderr.write(f"{fault}, {self.command.name}: {problem}\n")
        tries, lost = len(problems), len(wrong)
        name = f"{fault}: `{self.command.name}`"
        return Row(name, tries, tries - lost, lost, None, "; ".join(wrong)[:200])


def _full_disks(tries: Tries, needed: int, mounting: bool) -> list[str | None]:
    problems = []
    for part in _FULL:
        size, out = int(part * needed), tries.new_folder()
        if not mounting:
            victim = tries.start(out, lambda size=size: _limit(resource.RLIMIT_FSIZE, size))
            # A limit on one file's size may be above that of every file.
            problem = tries.judge(victim, may_finish=True)
            problems.append(problem or tries.resume(out))
            continue
        with _mounted("tmpfs", out, f"size={max(size, 4096)}"):
            problem = tries.judge(tries.start(out))
            _mount("-o", "remount,size=1g", str(out))
            problems.append(problem or tries.resume(out))
    return problems


def _few_descriptors(tries: Tries) -> list[str | None]:
    problems = []
    for count in _DESCRIPTORS:
        out = tries.new_folder()
        victim = tries.start(out, lambda count=count: _limit(resource.RLIMIT_NOFILE, count))
        problem = tries.judge(victim, may_finish=True)
        problems.append(problem or tries.resume(out))
    return problems


def _little_memory(tries: Tries) -> str | None:
    out = tries.new_folder()
    victim = tries.start(out, _limit_workers)
    return tries.judge(victim) or tries.resume(out)


def _limit_workers() -> None:
    """Let processes that this one starts, and not this one, have little memory."""
    from multiprocessing import util

    spawn = util.spawnv_passfds

    def spawn_limited(path: Any, args: Any, passfds: Any) -> int:
        code = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({_MEMORY}, {_MEMORY}))"
        place = args.index("-c") + 1
        changed = [*args[:place], f"{code}; {args[place]}", *args[place + 1 :]]
        return spawn(path, changed, passfds)

    util.spawnv_passfds = spawn_limited


def _read_only(tries: Tries) -> str | None:
    """Mount the folder, read-only, on top of itself once the run has written to it."""
    out = tries.new_folder()
    victim = tries.start(out)
    begun = tries.command.begun or "*"
    while victim.status() is None and not list(out.glob(begun)):
        time.sleep(0.005)
    # A mount cannot be made read-only while anybody writes to it: it is made elsewhere first.
    side = out.with_suffix(".side")
    side.mkdir()
    _mount("--bind", str(out), str(side))
    with contextlib.ExitStack() as mounted:
        mounted.callback(_unmount, side)
        _mount("-o", "remount,bind,ro", str(side))
        _mount("--bind", str(side), str(out))
        mounted.callback(_unmount, out)
        problem = tries.judge(victim, may_finish=True)
    return problem or tries.resume(out)


def _limit(kind: int, value: int) -> None:
    resource.setrlimit(kind, (value, resource.getrlimit(kind)[1]))


def _may_mount(scratch: Path) -> bool:
    try:
        place = scratch / "mount"
        place.mkdir()
        with _mounted("tmpfs", place, "size=4096"):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


@contextlib.contextmanager
def _mounted(kind: str, place: Path, options: str) -> Iterator[None]:
    _mount("-t", kind, "-o", options, kind, str(place))
    try:
        yield
    finally:
        _unmount(place)


def _mount(*words: str) -> None:
    if os.geteuid() != 0 or shutil.which("mount") is None:
        raise PermissionError("mounting needs root")
    subprocess.run(["mount", *words], check=True, capture_output=True)


def _unmount(place: Path) -> None:
    # Also if a process that has not ended yet is in it.
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def _bytes_in(folder: Path) -> int:
    """The bytes that a run leaves in its folder. It needs more: a checkpoint is written beside."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
