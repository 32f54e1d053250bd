"""How the tests run: both precisions, quick compiling, a cache of compiled programs, signals.

Shapes and types that annotations name are checked in every package while the tests run: see
`--jaxtyping-packages` in pyproject.toml.
"""

import gc
import itertools
import os
import signal
from importlib import metadata
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parent.parent

# Compiling takes most of the tests' time, and most programs run only briefly: compile them quickly.
# Processes that tests start inherit this. JAX reads it when it is imported, so nothing in this file
# imports JAX before it is needed.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
# XLA's older code generator takes half the time of its new one. Newer versions do not have it, and
# a flag that they do not know ends them.
if metadata.version("jaxlib").startswith("0.10."):
    os.environ.setdefault(
        "XLA_FLAGS", "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
    )
# Every compiled program is kept for the other processes of this run, and for the next run. Deleting
# the folder is always safe.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(ROOT / ".jax_cache"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")

# Tests run in one process per core: threads of PyTorch's would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Its compiler would start a pool of processes for a single program.
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")

# The same examples on every run; HYPOTHESIS_PROFILE=random looks for new ones.
settings.register_profile("fixed", deadline=None, derandomize=True, max_examples=12)
settings.register_profile("random", deadline=None, derandomize=False, max_examples=100)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

# Started in the background (`nohup make test &`), this process ignores SIGINT and SIGHUP, and
# processes that it starts inherit that: they would never see the signals that tests send them. A
# handler is not inherited, so with one that does nothing they begin with the default again.
for _kind in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(_kind) is signal.SIG_IGN:
        signal.signal(_kind, lambda *_: None)

# Where environments are played for thousands of episodes, optimising their programs pays.
OPTIMISED = ("envs/test_fuzz.py", "envs/test_oracle.py", "envs/test_scores.py")
# Files all of whose tests are slow; single tests elsewhere have the mark themselves.
SLOW = (
    "envs/*docs.py",
    "envs/*draws.py",
    "envs/*fuzz.py",
    "envs/*gym.py",
    "envs/*laws.py",
    "envs/*oracle.py",
    "envs/*scores.py",
    "envs/test_fourth_world.py",
    "jobs/test_engines.py",
    "jobs/test_ray_actors.py",
    "jobs/test_sweeps.py",
    "memory/test_concrete.py",
    "memory/test_laws.py",
    "memory/test_pools.py",
    "networks/*.py",
    "testing/test_memory.py",
    "testing/test_module.py",
    "torch/test_laws.py",
    "torch/test_sb3.py",
    "cli/test_worlds.py",
)


def pytest_configure():
    """Both precisions are tested; what makes arrays says which. Processes of their own have the
    default: see `run_longpass` in helpers.py."""
    import jax

    jax.config.update("jax_enable_x64", True)


def is_slow(path: Path) -> bool:
    """Whether all tests of a file are slow."""
    below = path.relative_to(ROOT / "tests")
    return any(below.match(pattern) for pattern in SLOW)


def pytest_ignore_collect(collection_path, config):
    """Do not even import slow files where their tests would be left out."""
    left_out = config.option.markexpr == "not slow" and is_slow(collection_path)
    return True if left_out else None


def pytest_collection_modifyitems(items):
    """Mark the tests of slow files."""
    for item in items:
        if is_slow(item.path):
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish():
    """Collect garbage seldom: looking through all that was imported takes a tenth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Choose how the test's programs are compiled, before any fixture compiles one."""
    import jax

    optimised = any(item.path.match(pattern) for pattern in OPTIMISED)
    jax.config.update("jax_disable_most_optimizations", not optimised)


def pytest_terminal_summary(terminalreporter):
    """Print what tests measured without judging it, such as the size of an installation."""
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            terminalreporter.line(f"{name}: {value:.2f}")


_count_tests = itertools.count(1)


@pytest.fixture(autouse=True)
def few_memory_maps():
    """Drop compiled programs before the kernel's limit on memory maps (65,530) ends the run.

    Counting them takes long, and no test adds thousands.
    """
    import jax

    yield
    maps = Path("/proc/self/maps")
    seldom = next(_count_tests) % 8 == 0
    if seldom and maps.exists() and maps.read_bytes().count(b"\n") > 20_000:
        jax.clear_caches()


@pytest.fixture
def unchecked_types():
    """Without the tests' type checks, as users run: our own messages must do."""
    from jaxtyping import config

    config.update("jaxtyping_disable", True)
    yield
    config.update("jaxtyping_disable", False)


@pytest.fixture(autouse=True)
def bad_input_is_unchecked(request):
    """Whole modules of bad input run without type checks."""
    if "bad_input" in request.path.name:
        request.getfixturevalue("unchecked_types")
