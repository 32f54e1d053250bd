"""Signals as users send them: processes of their own that say so, save, and leave in order."""

import contextlib
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from longpass.records import Records
from tests.helpers import SMALL, TASK, default_environment, run_longpass

TRAIN = ("train", *TASK, *SMALL, "--steps", "1e9", "--out")


def start(*args, by=(), **named):
    """Start a command in a session of its own, from the first line on as users do.

    `by` starts it in its turn: a function that runs in the new process would need a fork, which JAX
    does not allow.
    """
    return subprocess.Popen(
        [*by, sys.executable, "-m", "longpass", *map(str, args)],
        env=default_environment(),
        start_new_session=not by,
        **named,
    )


def await_lines(path, lines, process):
    until = time.monotonic() + 300
    while not path.exists() or path.read_bytes().count(b"\n") < lines:
        assert process.poll() is None, "the command has ended"
        assert time.monotonic() < until, "the command did not begin to train"
        time.sleep(0.01)


@pytest.mark.parametrize("module", ["longpass.cli", "jax"])
@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_importing_ends_in_a_word_and_no_traceback(kind, module):
    """Also while the first library is imported."""
    code = f"""
import os, sys
from longpass.__main__ import main
class Finder:
    def find_spec(self, name, *_):
        if name == {module!r}:
            os.kill(os.getpid(), {int(kind)})
sys.meta_path.insert(0, Finder())
sys.argv = ["longpass", "classify", "--symbols", "4e7"]
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=default_environment()
    )
    assert done.returncode == 130
    assert done.stderr.removeprefix("longpass classify: loading").strip() == "longpass: stopped"


def test_tests_in_the_background_send_interrupts_that_arrive():
    """A shell lets what it starts in the background ignore Ctrl-C, and so would all commands that
    the tests start and interrupt: see conftest.py."""
    child = "import signal; print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"
    parent = (
        f"import tests.conftest, subprocess, sys\nsubprocess.run([sys.executable, '-c', {child!r}])"
    )
    shell = ["sh", "-c", 'trap "" INT; exec "$0" -c "$1"', sys.executable]
    for code, ignored in ((parent, "False"), (child, "True")):
        done = subprocess.run(
            [*shell, code],
            cwd=Path(__file__).parent.parent.parent,
            capture_output=True,
            text=True,
        )
        assert done.stdout.strip() == ignored, done.stderr


def test_an_interrupt_after_the_work_is_done_changes_nothing():
    """While Python shuts down, its handlers are gone: the signal would end the process."""
    code = """
import os, signal, sys
from longpass.__main__ import main
sys.argv = ["longpass", "--version"]
try:
    main()
finally:
    os.kill(os.getpid(), signal.SIGINT)
"""
    done = subprocess.run([sys.executable, "-c", code], env=default_environment())
    assert done.returncode == 0


@pytest.mark.slow
def test_a_terminal_that_is_closed_saves(tmp_path):
    """The terminal is gone: writing to it fails, and must not keep the run from being saved."""
    ours, theirs = pty.openpty()
    streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    process = start(*TRAIN, tmp_path, by=("setsid", "--ctty"), **streams)
    os.close(theirs)
    # Somebody has to read, or the command waits.
    records = tmp_path / "records.jsonl"
    os.set_blocking(ours, False)
    until = time.monotonic() + 300
    while not records.exists() or records.read_bytes().count(b"\n") < 4:
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.01)
        with contextlib.suppress(BlockingIOError):
            os.read(ours, 1 << 16)
    os.close(ours)
    assert process.wait(120) == 130
    last = Records(records).read()[-1]["updates"]
    code, _, err = run_longpass("train", "--resume", "--out", tmp_path, "--steps", 80 * last)
    assert code == 0, err
    resumed = [line["updates"] for line in Records(records).read() if line["event"] == "resume"]
    assert resumed == [last]


@pytest.mark.slow
def test_a_run_under_nohup_survives_its_terminal(tmp_path):
    """There SIGHUP is ignored, and stays ignored."""
    with start(*TRAIN, tmp_path, by=("nohup",), stdout=subprocess.DEVNULL) as process:
        records = tmp_path / "records.jsonl"
        await_lines(records, 3, process)
        process.send_signal(signal.SIGHUP)
        await_lines(records, records.read_bytes().count(b"\n") + 2, process)
        process.terminate()
        assert process.wait(120) == 130
