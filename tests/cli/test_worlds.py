"""`play`, `film`, `replay` and the flags of worlds, as a user meets them."""

import dataclasses
import importlib
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageSequence

from longpass import envs
from longpass.cli import main

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.mark.parametrize("command", ["play", "film", "train", "pbt"])
@pytest.mark.parametrize("name", envs.names())
def test_flags_are_the_parameters(name, command, capsys):
    with pytest.raises(SystemExit) as left:
        main([command, name, "--help"])
    assert left.value.code == 0
    options = capsys.readouterr().out.partition("options")[2]  # after the line of usage
    out = " ".join(options.replace("│", " ").split())
    for field in dataclasses.fields(envs.WORLDS[name].load_params()):
        flag = re.search(rf"--{field.name.replace('_', '-')}[ ,].*?\(default: (.*?)\)", out)
        assert flag, field.name
        assert flag[1] == str(field.default)


def test_help_does_not_load_jax():
    code = """
import sys
from longpass.cli import main
try:
    main(["film", "t-maze", "--help"])
finally:
    assert not {"jax", "equinox", "matplotlib"} & set(sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Remember a cue through limbo" in done.stdout


@pytest.mark.parametrize("command", ["play", "film"])
def test_bad_parameters_are_bad_flags(command, capsys):
    with pytest.raises(SystemExit) as left:
        main([command, "t-maze", "--limbo-time", "2"])
    assert left.value.code == 2
    assert "limbo_time is 2: it must be 0 (no limbo) or at least 3" in capsys.readouterr().err


class Terminal:
    """A command in a terminal of its own."""

    def __init__(self, *args):
        self.outer, inner = pty.openpty()
        self.before = termios.tcgetattr(inner)
        self.inner = inner
        self.process = subprocess.Popen(
            [sys.executable, "-m", "longpass", *args],
            stdin=inner,
            stdout=inner,
            stderr=inner,
            env=os.environ | {"TERM": "xterm-256color", "COLUMNS": "90", "LINES": "30"},
            start_new_session=True,
        )
        self.seen = ""

    def wait_for(self, text, seconds=60):
        """Read until this text has been printed."""
        until = time.monotonic() + seconds
        while text not in self.seen:
            assert time.monotonic() < until, f"{text!r} did not come: {self.seen[-2000:]!r}"
            if select.select([self.outer], [], [], 0.2)[0]:
                self.seen += os.read(self.outer, 65536).decode()

    def press(self, keys, then):
        self.seen = ""
        os.write(self.outer, keys)
        self.wait_for(then)

    def close(self):
        """The exit status; the terminal must be as it was."""
        until = time.monotonic() + 30
        while self.process.poll() is None:
            assert time.monotonic() < until
            if select.select([self.outer], [], [], 0.1)[0]:
                self.seen += os.read(self.outer, 65536).decode()
        after = termios.tcgetattr(self.inner)
        os.close(self.outer)
        os.close(self.inner)
        assert after == self.before
        return self.process.returncode


UP, LEFT, DOWN = b"\x1b[A", b"\x1bOD", b"\x1b[B"


def test_a_person_plays():
    """Up twice onto the teleporter, out of it on the way to the left goal, and leave."""
    game = Terminal(
        "play", "t-maze", "--fps", "0", "--level", "0", "--limbo-time", "0", "--teleport-delay", "0"
    )
    game.wait_for("frame 0")
    assert "chamber" in game.seen
    game.press(UP, "frame 1")
    game.press(UP, "on the teleporter")
    for frame in (3, 4):
        game.press(b" ", f"frame {frame} ")
    for frame in range(5, 12):
        game.press(LEFT, f"frame {frame} ")
    for frame in range(12, 17):
        game.press(DOWN, f"frame {frame} ")
    game.press(DOWN, "goal reached")
    game.press(b"x", "over")
    game.press(b"n", "frame 0")
    game.press(b"q", "at best")
    assert game.close() == 0
    assert "-1.016 of 0.984" in game.seen  # it was the wrong one


def test_frames_go_on_by_themselves():
    game = Terminal("play", "cued-catch", "--num-trials", "1", "--initial-cue-duration", "1",
                    "--fps", "50", "--json")  # fmt: skip
    game.wait_for("over")
    game.press(b"q", '"command": "play"')
    assert game.close() == 0


def test_an_interrupt_restores_the_terminal():
    game = Terminal("play", "sequence-recall")
    game.wait_for("frame 2")
    game.process.send_signal(signal.SIGINT)
    assert game.close() == 130


def test_play_needs_a_terminal(capsys):
    with pytest.raises(SystemExit) as left:
        main(["play", "t-maze"])
    assert left.value.code == 1
    assert "terminal" in capsys.readouterr().err


@pytest.mark.parametrize("policy", ["random", "scripted"])
def test_film(tmp_path, capsys, policy):
    out = tmp_path / "made" / "a.gif"
    main(["film", "cued-catch", "--policy", policy, "--num-trials", "2", "--initial-cue-duration",
          "1", "--reward-free-trials", "0", "-o", str(out), "--json"])  # fmt: skip
    result = json.loads(capsys.readouterr().out)
    assert (result["task"], result["steps"]) == ("cued-catch", 17)
    if policy == "scripted":
        assert result["score"] == 2.0
    with Image.open(out) as film:
        shown = 0
        for frame in ImageSequence.Iterator(film):
            shown += frame.info["duration"]
        assert shown == 18 * 50
        picture = np.asarray(film.convert("RGB"))
    assert tuple(picture[14 + 7, 8 * 14 + 7]) == envs.CuedCatch.colours["a"]


def test_film_refuses_what_it_cannot_write(tmp_path, capsys):
    with pytest.raises(SystemExit) as left:
        main(["film", "t-maze", "--limbo-time", "0", "--out", str(tmp_path / "a.mp4")])
    assert left.value.code == 1
    assert "films are written as .gif files" in capsys.readouterr().err


def test_replay(tmp_path, capsys):
    names = ["cued_catch_02.npz", "cued_catch_16.npz"]
    main(["replay", *(str(GOLDEN / name) for name in names), "--json"])
    result = json.loads(capsys.readouterr().out)
    assert (result["equal"], result["skipped"], result["ok"]) == (1, 1, True)

    with np.load(GOLDEN / names[0]) as file:
        record = {key: file[key] for key in file.files}
    record["boards"][3, 1, 4] = ord("Q")
    np.savez(tmp_path / "changed.npz", **record)
    with pytest.raises(SystemExit) as left:
        main(["replay", str(tmp_path)])
    assert left.value.code == 1
    out = capsys.readouterr().out
    assert "changed.npz: frame 3, cell (1, 4): recorded 'Q', ours ' '" in out


def test_the_example_learns(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "examples"))
    returns = importlib.import_module("gym_reinforce").train(updates=8)
    assert returns[0] < 5.5
    assert np.mean(returns[-2:]) > 7
