"""Shapes and types that annotations name are checked while the tests run."""

import importlib
import os
from pathlib import Path

import jax
import pytest
from hypothesis import settings
from jaxtyping import install_import_hook

# Compiling takes most of the tests' time, and what is compiled runs only briefly. The worlds are
# played for thousands of episodes: for them `make test` sets flags of its own.
if "XLA_FLAGS" not in os.environ:
    os.environ["XLA_FLAGS"] = (
        "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
    )

# Both precisions are tested; what makes arrays says which.
jax.config.update("jax_enable_x64", True)

settings.register_profile("longpass", deadline=None, derandomize=True, max_examples=12)
settings.load_profile("longpass")

with install_import_hook("longpass", "beartype.beartype"):
    for name in ("theory", "memory", "networks"):
        importlib.import_module(f"longpass.{name}")


@pytest.fixture(autouse=True)
def few_memory_maps():
    """Drop compiled programs before the kernel's limit on memory maps (65,530) ends the run."""
    yield
    maps = Path("/proc/self/maps")
    if maps.exists() and maps.read_bytes().count(b"\n") > 20_000:
        jax.clear_caches()


@pytest.fixture
def unchecked_types():
    """Without the tests' type checks, as users run: our own messages must do."""
    from jaxtyping import config

    config.update("jaxtyping_disable", True)
    yield
    config.update("jaxtyping_disable", False)
