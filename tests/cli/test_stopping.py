"""Ctrl-C, SIGTERM and SIGHUP: a word at once, a saved run, and a line that continues it."""

import io
import json
import os
import shlex
import signal
import subprocess
import sys
import time

import pytest
from rich.console import Console

from longpass.cli import _minutes
from longpass.cli._again import remember_words, same_command
from longpass.cli._evaluate import show_episodes
from longpass.cli._live import LiveView, follow
from longpass.cli._stopping import StopOnSignal
from longpass.jobs import Job, JobProgress
from longpass.records import Records
from tests.helpers import (
    SMALL,
    TASK,
    caught_signals,
    default_environment,
    start_longpass,
    stop_when_training,
)

# The words of a command that must end at once, and when it is interrupted.
LOADING = ("film", "t-maze", "--out", "film.gif")


def run_line(line):
    """Run a line as it was printed, as a shell would, and return how it ended."""
    program, *words = shlex.split(line)
    assert program == "longpass"
    return subprocess.run(
        [sys.executable, "-m", "longpass", *words],
        capture_output=True,
        text=True,
        env=default_environment(),
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGHUP], ids=lambda kind: kind.name)
def test_the_printed_line_resumes_as_it_stands(tmp_path, kind):
    """Flags that were given, more steps than :g can print, and a folder with a space in its name
    are all part of it."""
    out = tmp_path / "my run"
    words = (*TASK, *SMALL, "--steps", 4000001, "--save-minutes", 1e-5, "--out", out)
    with start_longpass("train", *words) as process:
        stop_when_training(process, out, kind=kind)
        printed, err = process.communicate()
    assert process.returncode == 130, err
    assert "longpass train: loading" in err
    assert "stopping; once more leaves at once" in err
    (line,) = (line for line in printed.splitlines() if line.startswith("stopped: "))
    command = line.removeprefix("stopped: ").removesuffix(" continues")
    assert "--steps 4000001" in command
    # Fewer steps, so that the test ends.
    done = run_line(command.replace("4000001", "4000") + " --json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["steps"] >= 4000
    assert "resume" in [line["event"] for line in Records(out / "records.jsonl").read()]


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.0, 0.5, 3.0])
def test_an_interrupt_while_loading_ends_at_once_without_a_trace(tmp_path, seconds):
    with subprocess.Popen(
        [sys.executable, "-m", "longpass", *LOADING],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=default_environment(),
        cwd=tmp_path,
    ) as process:
        assert process.stderr is not None
        if seconds:
            assert "loading" in process.stderr.readline()
            time.sleep(seconds)
        else:
            _wait_for_handler(process.pid)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    # It may have been done before.
    assert process.returncode in ((130, 0) if seconds else (130,)), err
    assert "Traceback" not in err
    assert "Fatal" not in err


def _wait_for_handler(pid):
    """Wait until Python handles SIGINT, which is before anything of ours is imported."""
    bit = 1 << (signal.SIGINT - 1)
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if caught_signals(pid) & bit:
            time.sleep(0.2)
            return
        time.sleep(0.001)


def test_a_second_signal_does_what_it_did_before():
    called = []
    before = signal.signal(signal.SIGTERM, lambda *_: called.append("before"))
    try:
        with StopOnSignal() as stop:
            assert not stop()
            os.kill(os.getpid(), signal.SIGTERM)
            assert stop()
            assert not called
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGTERM)
        assert called == ["before"]
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_closed_connection_does_not_stop_a_run_under_nohup():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with StopOnSignal() as stop:
            os.kill(os.getpid(), signal.SIGHUP)
            assert not stop()
    finally:
        signal.signal(signal.SIGHUP, before)


class Counted(LiveView):
    """A view of one job."""

    def __init__(self):
        super().__init__(lambda job: 1.0, 1.0, 1)

    def describe(self):
        return "0 of 1 done"

    def __rich__(self):
        return "nothing"


def test_jobs_that_say_nothing_can_be_stopped():
    """A driver that waits for a program to compile has its turn, and closes the jobs."""
    closed = []

    def jobs():
        try:
            for _ in range(100):
                yield JobProgress(Job(0, None), "waiting")
                os.kill(os.getpid(), signal.SIGTERM)
        finally:
            closed.append(True)

    view = Counted()
    assert follow(jobs(), view, Console(file=io.StringIO()))
    assert closed
    assert view.left == pytest.approx(1.0)


def test_a_pipe_has_a_line_per_minute(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(_minutes.time, "monotonic", lambda: now[0])
    pipe, terminal = io.StringIO(), io.StringIO()
    lines = [
        _minutes.MinuteLines(Console(file=pipe)),
        _minutes.MinuteLines(Console(file=terminal, force_terminal=True)),
    ]
    for second in range(150):
        now[0] = float(second)
        for one in lines:
            one.show(lambda second=second: f"second {second}")
    assert pipe.getvalue() == "second 60\nsecond 120\n"
    assert terminal.getvalue() == ""


def test_episodes_are_counted_while_they_are_played(monkeypatch):
    """`evaluate` and `export`, which once said nothing until their end."""
    now = [0.0]
    monkeypatch.setattr(_minutes.time, "monotonic", lambda: now[0])
    pipe = io.StringIO()
    with show_episodes(Console(file=pipe), 1000) as show:
        for played in (100, 200, 300):
            now[0] += 40.0
            show("greedy", played)
    assert pipe.getvalue() == "200 of 1,000 greedy episodes\n"


def test_the_same_command_is_quoted_and_has_a_flag_once():
    remember_words(["train", "t-maze", "--out", "a b", "--resume"])
    assert same_command("--resume") == "longpass train t-maze --out 'a b' --resume"
    remember_words(["classify"])
    assert same_command("--resume") == "longpass classify --resume"
