"""Ctrl-C, SIGTERM and SIGHUP in every phase: the command says so, ends in order, and resumes.

A phase is found inside the command's process: something that it calls there sends the signal. While
it imports there is nothing to call, so there the moment is drawn at random.
"""

import os
import random
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from chaos._commands import BY_JAX, COMMANDS, EVALUATE, FIGURE, FILM
from chaos._folders import list_incomplete, name_difference, read_folder
from chaos._processes import Victim, preload
from chaos._rows import Row
from longpass._signals import STOPPED

OTHERS = {
    "classify --learner jax": BY_JAX,
    "evaluate": EVALUATE,
    "film": FILM,
    "figure": FIGURE,
}
SIGNALS = {"Ctrl-C": signal.SIGINT, "SIGTERM": signal.SIGTERM, "SIGHUP": signal.SIGHUP}
Prepare = Callable[[signal.Signals, Path], None]
"""Called in the command's process with the signal to send and the file to note the time in."""


def run(seconds: float, seed: int, scratch: Path, names: tuple[str, ...] = ()) -> list[Row]:
    """One row per command and phase.

    **Arguments:**

    - `seconds`: no new row is begun after this time.
    - `seed`: of the moments while importing.
    - `scratch`: a folder for the runs.
    - `names`: of the commands, or "import"; none: all.
    """
    preload()
    until = time.monotonic() + seconds
    rows = [_interrupt_imports(seed, scratch / "import")] if not names or "import" in names else []
    twins: dict[str, dict[str, Any]] = {}
    for (name, phase), prepare in PHASES.items():
        if names and name not in names:
            continue
        if time.monotonic() > until:
            sys.stderr.write(f"signals: no time was left for {name}, {phase}\n")
            continue
        if name not in twins:
            twins[name] = _make_twin(name, scratch)
        rows.append(_interrupt_phase(name, phase, prepare, scratch, twins[name]))
    return rows


def _words(name: str, out: Path) -> list[str]:
    return {**COMMANDS, **OTHERS}[name].words(out)


def _make_twin(name: str, scratch: Path) -> dict[str, Any]:
    twin = Victim(_words(name, scratch / f"{name}-twin"), scratch / f"{name}-twin.log")
    if twin.wait(600) != 0:
        raise RuntimeError(f"the unharmed {name} failed:\n{twin.text()[-2000:]}")
    return read_folder(scratch / f"{name}-twin")


def _interrupt_phase(
    name: str, phase: str, prepare: Prepare, scratch: Path, expected: dict[str, Any]
) -> Row:
    """All signals in one phase of one command."""
    wrong, seconds = [], []
    for label, kind in SIGNALS.items():
        out = scratch / f"{name}-{phase}-{label}".replace(" ", "-")
        noted = out.with_suffix(".sent")
        victim = Victim(
            _words(name, out), out.with_suffix(".log"), lambda k=kind, n=noted: prepare(k, n)
        )
        status = victim.wait()
        if noted.exists():
            seconds.append(time.time() - float(noted.read_text()))
        problem = _judge(status, victim.text(), noted.exists())
        if left := victim.orphans():
            problem = problem or f"{len(left)} processes were left"
        again = Victim(_words(name, out), out.with_suffix(".again"))
        if again.wait() != 0:
            problem = problem or f"it could not be resumed: {again.text()[-200:]}"
        else:
            problem = problem or name_difference(read_folder(out), expected)
            problem = problem or next(iter(list_incomplete(out)), None)
        if problem:
            wrong.append(f"{label}: {problem}")
            sys.stderr.write(f"{name}, {phase}, {label}: {problem}\n")
    cost = statistics.median(seconds) if seconds else None
    fault = f"Ctrl-C, SIGTERM, SIGHUP: `{name}`, {phase}"
    survived = len(SIGNALS) - len(wrong)
    return Row(fault, len(SIGNALS), survived, len(wrong), cost, "; ".join(wrong)[:200])


def _judge(status: int, text: str, sent: bool) -> str | None:
    """What is wrong with how a command ended; None if nothing is."""
    if not sent:
        return "the phase was never reached"
    if "Traceback" in text:
        return "a traceback"
    if status not in (0, STOPPED):
        return f"exit status {status}"
    return None if "stopp" in text else "not a word"


def _interrupt_imports(seed: int, scratch: Path) -> Row:
    """Signals while processes of their own start and import."""
    rng, wrong, seconds = random.Random(seed), [], []
    tries = [(label, words) for label in SIGNALS for words in IMPORTING for _ in range(2)]
    scratch.mkdir(parents=True)
    for label, words in tries:
        process = subprocess.Popen(
            [sys.executable, "-m", "longpass", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=scratch,
        )
        _await_handler(process.pid)
        time.sleep(rng.uniform(0.0, 2.0))
        sent = time.monotonic()
        process.send_signal(SIGNALS[label])
        try:
            text = process.communicate(timeout=60)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            text = f"a minute later it still runs\n{process.communicate()[0]}"
        seconds.append(time.monotonic() - sent)
        if problem := _judge(process.returncode, text, sent=True):
            wrong.append(f"{label}, {words[0]}: {problem}")
            sys.stderr.write(f"import, {wrong[-1]}\n{text[-500:]}\n")
    fault = "Ctrl-C, SIGTERM, SIGHUP while importing"
    lost, cost = len(wrong), statistics.median(seconds)
    return Row(fault, len(tries), len(tries) - lost, lost, cost, "; ".join(wrong)[:200])


# None of them is done before the signal comes.
IMPORTING = (
    ["classify", "--symbols", "4e7"],
    ["train", "t-maze", "--resume", "--out", "agent"],
    ["evaluate", "pretrained:t-maze-chain"],
    ["film", "cued-catch", "--out", "film.gif"],
)


def _await_handler(pid: int, seconds: float = 30.0) -> None:
    """Wait until a process catches SIGTERM: before that it is Python that starts, not longpass."""
    until = time.monotonic() + seconds
    bit = 1 << (signal.SIGTERM - 1)
    while time.monotonic() < until:
        status = Path(f"/proc/{pid}/status").read_text()
        caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
        if int(caught.split()[1], 16) & bit:
            return
        time.sleep(0.001)


def _send(kind: signal.Signals, noted: Path) -> None:
    """Send this process the signal, once, and note when."""
    if not noted.exists():
        noted.write_text(repr(time.time()))
        os.kill(os.getpid(), kind)


def _send_after(delay: float, kind: signal.Signals, noted: Path) -> None:
    threading.Timer(delay, _send, (kind, noted)).start()


def _before(owner: Any, name: str, call: Callable[[], None], count: int = 1) -> None:
    """Let the `count`-th call of a function be preceded by another."""
    function = getattr(owner, name)
    calls = iter(range(1, count + 1))

    def wrapped(*args: Any, **named: Any) -> Any:
        if next(calls, None) == count:
            call()
        return function(*args, **named)

    setattr(owner, name, wrapped)


def _while_loading(kind: signal.Signals, noted: Path) -> None:
    """Native code is not compiled anew, but loaded."""
    from longpass.streams import StreamTraining

    _before(StreamTraining, "__init__", lambda: _send_after(0.1, kind, noted))


def _while_compiling(kind: signal.Signals, noted: Path) -> None:
    import jax

    from longpass.agents import AgentTraining
    from longpass.streams import StreamTraining

    jax.config.update("jax_enable_compilation_cache", False)
    for training, name in ((AgentTraining, "advance"), (StreamTraining, "learn_block")):
        _before(training, name, lambda: _send_after(0.5, kind, noted))


def _while_playing(kind: signal.Signals, noted: Path) -> None:
    import longpass.agents

    _before(longpass.agents, "measure_returns", lambda: _send_after(0.5, kind, noted))


def _while_drawing_a_film(kind: signal.Signals, noted: Path) -> None:
    from PIL import Image

    _before(Image.Image, "quantize", lambda: _send_after(0.05, kind, noted), count=10)


def _while_reading_records(kind: signal.Signals, noted: Path) -> None:
    import longpass.report

    _before(longpass.report, "write_report", lambda: _send_after(0.05, kind, noted))


def _while_writing_a_file(kind: signal.Signals, noted: Path) -> None:
    _before(os, "fsync", lambda: _send(kind, noted))


def _after_the_first_update(kind: signal.Signals, noted: Path) -> None:
    from longpass.agents import AgentTraining
    from longpass.streams import StreamTraining

    for training, name in ((AgentTraining, "advance"), (StreamTraining, "learn_block")):
        _before(training, name, lambda: _send(kind, noted), count=2)


def _in_a_checkpoint(kind: signal.Signals, noted: Path) -> None:
    from longpass.records import Checkpoints

    _before(
        Checkpoints,
        "save",
        lambda: _before(os, "fsync", lambda: _send(kind, noted)),
        count=2,
    )


def _in_the_held_out_pass(kind: signal.Signals, noted: Path) -> None:
    from longpass.streams import StreamTraining

    _before(StreamTraining, "scores", lambda: _send(kind, noted))


def _while_workers_start(kind: signal.Signals, noted: Path) -> None:
    from longpass.jobs import Scheduler

    _before(Scheduler, "run", lambda: _send_after(0.3, kind, noted))


def _while_recording(kind: signal.Signals, noted: Path) -> None:
    from longpass.records import Records

    _before(Records, "append", lambda: _before(os, "fsync", lambda: _send(kind, noted)), count=3)


def _while_drawing(kind: signal.Signals, noted: Path) -> None:
    from matplotlib.figure import Figure

    _before(Figure, "savefig", lambda: _send_after(0.05, kind, noted), count=2)


PHASES: dict[tuple[str, str], Prepare] = {
    ("classify", "loading"): _while_loading,
    ("classify", "first update"): _after_the_first_update,
    ("classify", "checkpoint"): _in_a_checkpoint,
    ("classify", "held-out pass"): _in_the_held_out_pass,
    ("train", "compiling"): _while_compiling,
    ("train", "first update"): _after_the_first_update,
    ("train", "checkpoint"): _in_a_checkpoint,
    ("sweep", "workers start"): _while_workers_start,
    ("sweep", "recording"): _while_recording,
    ("pbt", "workers start"): _while_workers_start,
    ("pbt", "recording"): _while_recording,
    ("classify --learner jax", "compiling"): _while_compiling,
    ("evaluate", "compiling"): _while_playing,
    ("film", "drawing"): _while_drawing_a_film,
    ("film", "writing"): _while_writing_a_file,
    ("figure", "drawing"): _while_drawing,
    ("report", "reading records"): _while_reading_records,
    ("report", "writing"): _while_writing_a_file,
}
