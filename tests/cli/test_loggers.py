"""Progress for other tools: each is written without a network, and read back from its file."""

import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

from longpass.cli import main
from longpass.cli._loggers import open_logger

# A process of its own: these libraries start threads and warn.
SCRIPT = """
import sys
from pathlib import Path
from longpass.cli._loggers import open_logger

with open_logger(sys.argv[1], Path("maze"), {"seed": 7, "agent": {"envs": 2}}) as logger:
    logger.log({"return_100": 0.25, "loss": 3.0}, step=80)
    logger.log({"return_100": 0.5, "loss": 2.0}, step=160)
"""
OFFLINE = {
    "WANDB_MODE": "offline",
    "HF_HUB_OFFLINE": "1",
    "TRACKIO_DIR": "trackio",
    "NO_PROXY": "*",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tensorboard", "trackio", "wandb"])
def test_values_are_written_offline_and_nothing_is_printed(name, tmp_path):
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, name],
        cwd=tmp_path,
        env={**os.environ, **OFFLINE, **home},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    written = b"".join(path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file())
    assert b"return_100" in written


def test_a_logger_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)
    with (
        pytest.raises(ModuleNotFoundError, match=r"--log wandb needs wandb: .*longpass\[wandb\]"),
        open_logger("wandb", Path("maze"), {}),
    ):
        pass


def test_a_logger_that_does_not_start_is_named(monkeypatch):
    def refuse(**options):
        raise RuntimeError("No API key configured")

    monkeypatch.setitem(sys.modules, "wandb", types.SimpleNamespace(init=refuse))
    with (
        pytest.raises(ValueError, match="log is 'wandb', which does not start: No API key"),
        open_logger("wandb", Path("maze"), {}),
    ):
        pass


def test_without_its_logger_nothing_is_begun(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(SystemExit):
        main(["train", "t-maze", "--log", "wandb", "--out", str(tmp_path / "maze")])
    assert "--log wandb needs wandb" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
