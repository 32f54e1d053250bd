"""The modules that the laws run over, small, each in both frameworks, and how to call them."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from torch import Tensor, nn

import longpass.memory
import longpass.torch
from longpass import rates

SIZES: dict[str, Any] = {"num_pools": 4, "pool_size": 6, "viewport_size": 3, "base": 1.7}
INPUT, OUTPUT = 5, 7
# The options of `Concrete` and `Parallel`, each at least once.
OPTIONS: dict[str, dict[str, Any]] = {
    "concrete": {},
    "concrete, no gradient": {"gradient_pools": 0},
    "concrete, two gradients": {"gradient_pools": 2, "activation": "tanh"},
    "concrete, all gradients": {"gradient_pools": 4, "read_input": False},
    "concrete, layer": {"normalise": "layer", "gradient_pools": 2},
    "parallel": {"gradient_pools": 2},
    "parallel, layer": {"normalise": "layer", "read_input": False, "activation": "silu"},
}
POOLS = {"chain": [0.3, 1.0, 0.3, 0.001], "bank": list(rates(2.0, 4))}
NAMES = (*OPTIONS, *POOLS)
ACTIVATIONS = {
    "relu": (jax.nn.relu, torch.relu),
    "tanh": (jnp.tanh, torch.tanh),
    "silu": (jax.nn.silu, torch.nn.functional.silu),
}


@functools.cache
def build_jax(name: str, dtype: Any = jnp.float64) -> Any:
    """A memory of `longpass.memory`, whose biases are not 0."""
    if name in POOLS:
        size = SIZES["pool_size"]
        if name == "chain":
            return longpass.memory.PoolChain(size, POOLS[name], dtype=dtype)
        return longpass.memory.PoolBank(size, POOLS[name], dtype=dtype)
    options = dict(OPTIONS[name])
    options["activation"] = ACTIVATIONS[options.get("activation", "relu")][0]
    kind: Any = longpass.memory.Parallel if "parallel" in name else longpass.memory.Concrete
    memory = kind(INPUT, OUTPUT, **SIZES, **options, dtype=dtype, key=jax.random.key(1))
    leaves, structure = jax.tree.flatten(memory)
    rng = np.random.default_rng(2)
    moved = [
        jnp.asarray(leaf + 0.2 * rng.standard_normal(leaf.shape), leaf.dtype)
        for leaf in map(np.asarray, leaves)
    ]
    return jax.tree.unflatten(structure, moved)


def build(name: str, dtype: torch.dtype = torch.float64, cell: bool = False, **more: Any) -> Any:
    """A module of `longpass.torch` with the weights of `build_jax`."""
    if name in POOLS:
        kind = longpass.torch.PoolChain if name == "chain" else longpass.torch.PoolBank
        return kind(SIZES["pool_size"], POOLS[name], **more)
    options = dict(OPTIONS[name])
    options["activation"] = ACTIVATIONS[options.get("activation", "relu")][1]
    kind = ("Parallel" if "parallel" in name else "Concrete") + ("Cell" if cell else "")
    module = getattr(longpass.torch, kind)(
        INPUT,
        SIZES["pool_size"],
        SIZES["num_pools"],
        output_size=OUTPUT,
        base=SIZES["base"],
        viewport_size=SIZES["viewport_size"],
        **options,
        **more,
        dtype=dtype,
    )
    memory = build_jax(name, jnp.dtype(str(dtype).removeprefix("torch.")))
    module.load_state_dict({key: to_torch(array) for key, array in named_arrays(memory).items()})
    return module


def named_arrays(memory: Any) -> dict[str, Any]:
    """The arrays of a JAX memory by the place where they are."""
    leaves, _ = jax.tree.flatten_with_path(memory)
    return {jax.tree_util.keystr(path, simple=True, separator="."): leaf for path, leaf in leaves}


def to_torch(array: Any) -> Tensor:
    return torch.from_numpy(jnp.asarray(array).__array__().copy())


def to_jax(tensor: Tensor) -> jax.Array:
    return jnp.asarray(tensor.detach().numpy())


def sample(
    name: str, length: int, seed: int = 0, batch: int = 3, chance: float = 0.15, dtype: Any = None
) -> tuple[Tensor, Tensor, Tensor]:
    """(Inputs, state, starts) for a module, all random."""
    draw = torch.Generator().manual_seed(seed)
    dtype = dtype or torch.float64
    width = SIZES["pool_size"] if name in POOLS else INPUT
    x = torch.randn(length, batch, width, generator=draw, dtype=dtype)
    state = torch.randn(4, batch, SIZES["pool_size"], generator=draw, dtype=dtype)
    return x, state, torch.rand(length, batch, generator=draw) < chance


def differentiate(
    call: Any, module: nn.Module, *inputs: Tensor
) -> tuple[list[Tensor], list[Tensor]]:
    """What `call(module, *inputs)` gives, and gradients in inputs and parameters.

    Gradients are those of random weights times the results.
    """
    inputs = tuple(one.detach().clone().requires_grad_() for one in inputs)
    results = [*call(module, *inputs)]
    draw = torch.Generator().manual_seed(9)
    total = sum(
        (one * torch.randn(one.shape, generator=draw, dtype=one.dtype)).sum() for one in results
    )
    assert isinstance(total, Tensor)
    wanted = [*inputs, *module.parameters()]
    grads = torch.autograd.grad(total, wanted, allow_unused=True, materialize_grads=True)
    return [one.detach() for one in results], list(grads)


def assert_close(ours: Any, theirs: Any, tolerance: float = 1e-9) -> None:
    """Two lists (of lists) of tensors are equal, up to the tolerance times their scale."""
    if isinstance(ours, Tensor):
        assert ours.shape == theirs.shape
        assert ours.dtype == theirs.dtype
        scale = max(1.0, float(theirs.detach().abs().max()) if theirs.numel() else 1.0)
        torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance * scale)
        return
    for one, other in zip(ours, theirs, strict=True):
        assert_close(one, other, tolerance)
