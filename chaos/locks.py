"""Two commands in one folder: the second gets a message that names the holder, and touches nothing.

The lock ends with its process, however that ends: the next command takes it over. Commands that
write one file, at once and at their end, wait for each other: both finish, and the file is whole.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from chaos._commands import COMMANDS, FIGURE, FILM, HOLDING
from chaos._folders import list_incomplete, name_difference, read_folder
from chaos._processes import Victim, preload
from chaos._rows import Row

_HOLD = """
import sys, time
from pathlib import Path
from longpass.records import hold_folder
with hold_folder(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""
STUDY = ["study", "search", "--runs", "1", "--tasks", "t-maze", "--steps", "1000"]
BENCHMARK = ["benchmark", "--memory", "gru", "--runs", "1", "--symbols", "100000"]
WRITING = {
    "report": COMMANDS["report"],
    "figure": FIGURE,
    "film": FILM,
}


def run(seconds: float, seed: int, scratch: Path, names: tuple[str, ...] = ()) -> list[Row]:
    """One row per command.

    **Arguments:**

    - `seconds`: no new command is tried after this time.
    - `seed`: nothing is drawn here.
    - `scratch`: a folder for the runs.
    - `names`: of the commands; none: all.
    """
    preload()
    until = time.monotonic() + seconds
    rows = []
    for name in names or (*HOLDING, "study", "benchmark", "reproduce", *WRITING):
        if time.monotonic() > until:
            sys.stderr.write(f"locks: no time was left for {name}\n")
            continue
        attempt = _write_together if name in WRITING else _hold_and_try
        rows.append(attempt(name, scratch / name))
    return rows


def _write_together(name: str, folder: Path) -> Row:
    """Let three commands write one file at once; before that, one alone."""
    command, out = WRITING[name], folder / "run"
    alone = Victim(command.words(folder / "alone"), folder.with_suffix(".log"))
    if alone.wait() != 0:
        raise RuntimeError(f"the unharmed {name} failed:\n{alone.text()[-2000:]}")
    expected = read_folder(folder / "alone")
    tries = 3
    logs = [folder / f"{number}.log" for number in range(tries)]
    wrong = []
    for victim in [Victim(command.words(out), log) for log in logs]:
        if victim.wait() != 0 or "Traceback" in victim.text():
            wrong.append(f"exit status {victim.status()}: {victim.text()[-200:]}")
    difference = name_difference(read_folder(out), expected)
    left = list_incomplete(out)
    if difference or left:
        wrong = [difference or f"{left[0]} was left"] * tries
    return _make_row(name, tries, wrong)


def _words(name: str, out: Path) -> list[list[str]]:
    """The commands that are tried in the folder: with and without what resumes."""
    if name == "study":
        return [[*STUDY, "--out", str(out)]]
    if name == "benchmark":
        return [[*BENCHMARK, "--out", str(out)]]
    if name == "reproduce":
        # It holds the folder of its preset.
        return [
            ["reproduce", "--preset", "quick", "--only", "truncation", "--out", str(out.parent)]
        ]
    command = COMMANDS[name]
    return [[name, *command.flags, *more, "--out", str(out)] for more in {(), command.resume}]


def _hold_and_try(name: str, folder: Path) -> Row:
    """Try a command in a folder that another process holds: a new one, and one with a run."""
    wrong, tries = [], 0
    out = folder / ("quick" if name == "reproduce" else "run")
    for begun in (False, True):
        if begun:
            if name not in COMMANDS:
                continue
            first = Victim(COMMANDS[name].words(out), folder / "first.log")
            first.wait(600)
        out.mkdir(parents=True, exist_ok=True)
        with _hold(out) as holder:
            before = _content(out)
            for words in _words(name, out):
                tries += 1
                second = Victim(words, folder / f"second-{tries}.log")
                problem = _judge(second.wait(), " ".join(second.text().split()), holder)
                if _content(out) != before:
                    problem = problem or "it touched the folder"
                wrong += [problem] if problem else []
            os.kill(holder, signal.SIGKILL)
    if name in COMMANDS:
        # The holder is dead: its lock is taken over.
        tries += 1
        after = Victim(COMMANDS[name].words(out), folder / "after.log")
        if after.wait(600) != 0:
            wrong.append(f"a dead process's lock was not taken over: {after.text()[-200:]}")
    return _make_row(name, tries, wrong)


def _make_row(name: str, tries: int, wrong: list[str]) -> Row:
    for problem in wrong:
        sys.stderr.write(f"locks, {name}: {problem}\n")
    lost = len(wrong)
    note = "; ".join(wrong)[:200]
    return Row(f"two at once: `{name}`", tries, tries - lost, lost, None, note)


def _judge(status: int, text: str, holder: int) -> str | None:
    if status != 1 or "Traceback" in text:
        return f"exit status {status}: {text[-200:]}"
    told = f"in use by process {holder} on" in text and " since " in text
    return None if told else f"it does not say who holds the folder: {text[-200:]}"


def _content(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes())
        for path in folder.rglob("*")
        if path.is_file()
    }


@contextlib.contextmanager
def _hold(folder: Path) -> Iterator[int]:
    """Let another process hold a folder: its number."""
    with subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(folder)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        if process.stdout.readline() != "held\n":
            raise RuntimeError(f"the folder {folder} could not be held")
        yield process.pid
        process.kill()
