"""The examples run as they stand, in processes of their own, with a tiny budget."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.helpers import default_environment

FOLDER = Path(__file__).parent.parent.parent / "examples" / "torch"
# (Example, the library that it needs, arguments)
EXAMPLES = [
    ("sb3_ppo.py", "sb3_contrib", ("--steps", "1100", "--delay", "8")),
    ("sb3_ppo.py", "sb3_contrib", ("--steps", "1100", "--delay", "8", "--core", "lstm")),
    ("torchrl_a2c.py", "torchrl", ("--updates", "5")),
    # Ray brings the files of RLlib, but not lz4, which RLlib needs.
    ("rllib_ppo.py", "lz4", ("--updates", "1", "--delay", "8")),
    ("rsl_rl_ppo.py", "rsl_rl", ("--updates", "2", "--delay", "8")),
]


def is_installed(library: str) -> bool:
    try:
        return find_spec(library) is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.slow
@pytest.mark.parametrize(("name", "library", "args"), EXAMPLES)
def test_example_runs(name, library, args):
    if not is_installed(library):
        pytest.skip(f"{library} is not installed")
    done = subprocess.run(
        [sys.executable, str(FOLDER / name), *args],
        capture_output=True,
        text=True,
        env=default_environment(),
    )
    assert done.returncode == 0, done.stderr
    assert -1.0 <= float(done.stdout.split()[-1]) <= 4.0


@pytest.mark.slow
def test_an_agent_learns_what_its_gradients_do_not_reach():
    """CleanRL's example, which so runs too: 30 steps of memory from gradients over 16."""
    if not is_installed("gymnasium"):
        pytest.skip("gymnasium is not installed")
    done = subprocess.run(
        [sys.executable, str(FOLDER / "cleanrl_ppo.py"), "--updates", "60", "--delay", "30"],
        capture_output=True,
        text=True,
        env=default_environment(),
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) > 0.8


def test_examples_are_short():
    for path in FOLDER.glob("*.py"):
        assert len(path.read_text().splitlines()) < 80, path
