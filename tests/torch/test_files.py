"""A file that one framework writes is read by the other, and is the same memory."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

import longpass.memory
import longpass.torch
from tests.torch.zoo import NAMES, assert_close, build, build_jax, named_arrays, sample, to_torch

every_memory = pytest.mark.parametrize("name", NAMES)


def assert_same_arrays(ours, theirs):
    ours, theirs = named_arrays(ours), named_arrays(theirs)
    assert list(ours) == list(theirs)
    for name, array in ours.items():
        np.testing.assert_array_equal(array, theirs[name])


@every_memory
def test_jax_to_torch_and_back(name, tmp_path):
    memory = build_jax(name)
    longpass.memory.save(memory, tmp_path / "one")
    module = longpass.torch.load(tmp_path / "one")
    x, state, starts = sample(name, 20)
    assert_close(list(module(x, state, starts)), list(build(name)(x, state, starts)), 1e-12)
    longpass.torch.save(module, tmp_path / "two")
    assert (name in ("chain", "bank")) or (
        (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    )
    again: Any = longpass.memory.load(tmp_path / "two")
    assert type(again) is type(memory)
    assert_same_arrays(again, memory)
    for option in ("base", "gradient_pools", "normalise", "activation", "read_input", "num_pools"):
        assert getattr(again, option, None) == getattr(memory, option, None)


@every_memory
def test_options_that_are_not_part_of_the_memory(name, tmp_path):
    longpass.torch.save(build(name), tmp_path / "one")
    module: Any = longpass.torch.load(tmp_path / "one", batch_first=True, state="lstm")
    assert (module.batch_first, module.state, module.num_layers) == (True, "lstm", 2)


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_lstm_and_gru_of_both_frameworks(kind, tmp_path):
    """Both directions. PyTorch's two random biases become one where they are only added."""
    torch.manual_seed(0)
    ours = getattr(torch.nn, kind)(5, 6, dtype=torch.float64)
    longpass.torch.save(ours, tmp_path / "file")
    memory: Any = longpass.memory.load(tmp_path / "file")
    x = torch.randn(20, 3, 5, dtype=torch.float64)
    _, theirs = memory.unroll_batch(memory.initial_state((3,)), jnp.asarray(x.numpy()))
    assert_close(to_torch(theirs), ours(x)[0].detach())
    made: Any = getattr(longpass.memory, kind)(5, 6, dtype=jnp.float32, key=jax.random.key(3))
    longpass.memory.save(made, tmp_path / "file")
    _, theirs = made.unroll_batch(made.initial_state((3,)), jnp.asarray(x.numpy(), jnp.float32))
    module = longpass.torch.load(tmp_path / "file")
    assert_close(module(x.float())[0].detach(), to_torch(theirs), 1e-5)
    assert_same_arrays(longpass.memory.load(tmp_path / "file"), made)


def test_a_cell_is_saved_as_its_memory(tmp_path):
    cell = build("parallel", cell=True)
    longpass.torch.save(cell, tmp_path / "file")
    module = longpass.torch.load(tmp_path / "file")
    assert type(module) is longpass.torch.Parallel
    assert_close(list(module.parameters()), list(cell.parameters()), 0.0)


def test_an_activation_without_a_shared_name_must_be_given(tmp_path):
    module = longpass.torch.Concrete(3, 4, activation=torch.nn.functional.gelu)
    longpass.torch.save(module, tmp_path / "file")
    for load in (longpass.torch.load, longpass.memory.load):
        with pytest.raises(ValueError, match=r"activation is None: .* it must be given"):
            load(tmp_path / "file")
    again = longpass.torch.load(tmp_path / "file", activation=torch.nn.functional.gelu)
    assert_close(again(torch.ones(9, 2, 3))[0], module(torch.ones(9, 2, 3))[0], 0.0)


def test_what_cannot_be_saved_or_loaded(tmp_path):
    path = tmp_path / "file"
    linked = longpass.memory.PoolChain(3, [0.5, 0.2], link=longpass.memory.Gate(3, 2))
    with pytest.raises(ValueError, match=r"link is .*: it must be None"):
        longpass.memory.save(linked, path)
    with pytest.raises(TypeError, match="module is a Linear: it must be one of Concrete"):
        longpass.torch.save(torch.nn.Linear(2, 2), path)
    with pytest.raises(ValueError, match="num_layers is 2: it must be 1"):
        longpass.torch.save(torch.nn.GRU(2, 2, 2), path)
    with pytest.raises(ValueError, match="dtype is bfloat16: it must be"):
        longpass.torch.save(torch.nn.LSTM(2, 2, dtype=torch.bfloat16), path)
    assert not path.exists()
    save_file({"write": np.zeros(3)}, path)
    damaged = tmp_path / "damaged"
    damaged.write_bytes(path.read_bytes()[:20])
    for load in (longpass.torch.load, longpass.memory.load):
        for one in (path, damaged):
            with pytest.raises(ValueError, match="it must be a file that longpass saved"):
                load(one)


def test_double_precision_is_not_lost(tmp_path):
    longpass.memory.save(build_jax("concrete"), tmp_path / "file")
    jax.config.update("jax_enable_x64", False)
    try:
        with pytest.raises(ValueError, match=r"dtype is float64 in .*: .* jax_enable_x64"):
            longpass.memory.load(tmp_path / "file")
    finally:
        jax.config.update("jax_enable_x64", True)
