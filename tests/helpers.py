"""What several test modules share: the command line, here and in a process of its own; pictures."""

import os
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import pytest

from longpass.cli import main

T = TypeVar("T")

# A task and an agent that train in a moment.
TASK = (
    *("cued-catch", "--num-trials", "3"),
    *("--initial-cue-duration", "1", "--reward-free-trials", "0"),
)
SMALL = (
    *("--num-pools", "3", "--pool-size", "8", "--viewport-size", "4", "--output-size", "8"),
    *("--envs", "4", "--rollout", "20", "--block-every", "5", "--slices", "2"),
    *("--updates-per-call", "2", "--writer", "slow", "--lag", "1"),
)

# How programs that run for a moment and compile for long are compiled quickly.
QUICK_COMPILE = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


def wrong(value: object) -> Any:
    """A value of a wrong type, passed on purpose."""
    return value


def given(value: T | None) -> T:
    """A value that must not be None."""
    assert value is not None
    return value


def run(capsys: pytest.CaptureFixture[str], *args: object) -> tuple[int, str, str]:
    """Run a command in this process, which has double precision and checks types.

    **Returns:** exit code, standard output and standard error of `longpass args`.
    """
    code = 0
    try:
        main([str(arg) for arg in args])
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 1
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def start_longpass(*args: object) -> "subprocess.Popen[str]":
    """Start a command as users do: a process of its own, default precision, unchecked types."""
    return subprocess.Popen(
        [sys.executable, "-m", "longpass", *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=default_environment(),
    )


def run_longpass(*args: object) -> tuple[int, str, str]:
    """Run a command as users do: see `start_longpass`.

    **Returns:** exit code, standard output and standard error.
    """
    with start_longpass(*args) as process:
        out, err = process.communicate()
    return process.returncode, out, err


def default_environment() -> Mapping[str, str]:
    """Environment variables of this process without a precision."""
    return {name: value for name, value in os.environ.items() if name != "JAX_ENABLE_X64"}


def stop_when_training(
    process: "subprocess.Popen[str]",
    folder: Path,
    seconds: float = 120.0,
    kind: signal.Signals = signal.SIGTERM,
) -> None:
    """Send a signal while the command trains in a folder: once it has saved for the second time."""
    until = time.monotonic() + seconds
    while not (folder / "checkpoint-before.npz").exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until, "the command did not begin to train"
        time.sleep(0.01)
    process.send_signal(kind)


def caught_signals(pid: int) -> int:
    """The signals that a process has handlers for, as the kernel's bits."""
    status = Path(f"/proc/{pid}/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("SigCgt:"))
    return int(line.split()[1], 16)


def count_shapes(svg: Path, points: int = 20) -> int:
    """Count what a figure shows of its data: images, and paths of at least `points` points.

    Axes, ticks and frames have fewer points, and letters are text: a figure without data has none.
    """
    root = ET.parse(svg).getroot()
    assert root.tag.endswith("svg")
    images = sum(1 for item in root.iter() if item.tag.endswith("}image"))
    paths = (item.get("d", "") for item in root.iter() if item.tag.endswith("}path"))
    return images + sum(len(re.findall("[MLCQ]", path)) >= points for path in paths)
