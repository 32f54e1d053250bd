"""Forward and backward of `Concrete` against its plain scan and its peers.

Every row times one network of equal width: gradients in all parameters and in the inputs. Peers run
with the threads that they take by default.
"""

import warnings
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import torch
from memax.equinox.semigroups.lru import LRU
from rich.console import Console

from benchmarks._timing import machine, make_tables, time_in_turn
from benchmarks._torch_concrete import TorchConcrete
from longpass.memory import Concrete, plain_unroll

# (batch, size, pools, steps)
SIZES = (
    (32, 64, 8, 3),
    (32, 64, 8, 30),
    (32, 64, 8, 100),
    (32, 64, 8, 300),
    (128, 198, 10, 300),
)
VIEWPORT = 10
SECONDS = 12.0


def build(size: int, pools: int) -> Concrete:
    """A Concrete whose input, pools and output have one width."""
    return Concrete(
        size,
        size,
        num_pools=pools,
        pool_size=size,
        viewport_size=VIEWPORT,
        key=jax.random.key(0),
    )


def jax_call(form: Callable, module: Any, state: Any, xs: jax.Array, starts) -> Callable:
    """A call of the gradient of mean(form(module, ...)^2) over a batch."""
    axes = (None, None, 0, None if starts is None else 0)

    @eqx.filter_jit
    def gradient(module, xs, starts):
        def loss(args):
            ys = jax.vmap(form, in_axes=axes)(args[0], state, args[1], starts)
            return jnp.mean(ys**2)

        return eqx.filter_grad(loss)((module, xs))

    return lambda: jax.block_until_ready(gradient(module, xs, starts))


def torch_call(module: torch.nn.Module, xs: np.ndarray) -> Callable:
    """The same of a PyTorch module with time first."""
    inputs = torch.tensor(xs.swapaxes(0, 1).copy(), requires_grad=True)

    def call():
        module.zero_grad()
        inputs.grad = None
        out = module(inputs)
        (out[0] if isinstance(out, tuple) else out).square().mean().backward()

    return call


def measure(batch: int, size: int, pools: int, steps: int, seconds: float) -> dict[str, float]:
    """Median seconds of each peer at one size."""
    memory, state = build(size, pools), build(size, pools).initial_state()
    xs = jax.random.normal(jax.random.key(1), (batch, steps, size))
    starts = jax.random.bernoulli(jax.random.key(2), 0.01, (batch, steps))
    none = jnp.zeros((batch, steps), bool)
    lru = LRU(recurrent_size=size, hidden_size=size, key=jax.random.key(3))
    carry = lru.initialize_carry()

    def ours(memory, state, xs, starts):
        return memory.unroll(state, xs, starts)[1]

    def plain(memory, state, xs, starts):
        return plain_unroll(memory, state, xs, starts)[1]

    def recurrent_unit(lru, carry, xs, starts):
        return lru(carry, (xs, starts))[1]

    array = np.asarray(xs)
    calls = {
        "longpass": jax_call(ours, memory, state, xs, None),
        "plain scan": jax_call(plain, memory, state, xs, None),
        "longpass, starts": jax_call(ours, memory, state, xs, starts),
        "plain scan, starts": jax_call(plain, memory, state, xs, starts),
        "memax LRU": jax_call(recurrent_unit, lru, carry, xs, none),
        "torch LSTM": torch_call(torch.nn.LSTM(size, size), array),
        "torch GRU": torch_call(torch.nn.GRU(size, size), array),
        "torch loop": torch_call(TorchConcrete(size, pools, VIEWPORT), array),
    }
    return time_in_turn(calls, seconds)


def measure_step(batch: int, seconds: float) -> dict[str, float]:
    """Median seconds of one forward step at size 64, as when acting; a batch of 1 is no batch."""
    memory = build(64, 8)
    gru = eqx.nn.GRUCell(64, 64, key=jax.random.key(0))

    def step(x, state):
        return memory.step(state, x)

    def cell(x, hidden):
        return gru(x, hidden)

    def timed(function, state):
        x = jax.random.normal(jax.random.key(1), (64,))
        if batch > 1:
            function = jax.vmap(function)
            x, state = (jnp.broadcast_to(leaf, (batch, *leaf.shape)) for leaf in (x, state))
        function = jax.jit(function)
        return lambda: jax.block_until_ready(function(x, state))

    calls = {
        "longpass": timed(step, memory.initial_state()),
        "eqx GRUCell": timed(cell, jnp.zeros(64)),
    }
    return time_in_turn(calls, seconds)


def main(console: Console, seconds: float = SECONDS) -> dict[str, Any]:
    """Time everything, print the tables and say which targets are not met."""
    warnings.filterwarnings("ignore", module="memax")
    rows = {size: measure(*size, seconds) for size in SIZES}
    # Where ours has starts to handle, so has what it is compared with.
    peers = {"plain scan, starts": "longpass, starts"}
    for table in make_tables(rows, "memory: ms, forward and backward", peers):
        console.print(table)
    steps = {batch: measure_step(batch, seconds / 4) for batch in (1, 32)}
    for batch, times in steps.items():
        console.print(
            f"one step, B {batch}: longpass {1e6 * times['longpass']:.1f} µs, "
            f"eqx.nn.GRUCell {1e6 * times['eqx GRUCell']:.1f} µs",
            highlight=False,
        )
    unmet = missed(rows, steps)
    for line in unmet or ["every target is met"]:
        console.print(line, highlight=False)
    console.print(f"{machine()}; JAX {jax.__version__}, PyTorch {torch.__version__}")
    return {
        "rows": [dict(zip("BDkT", size, strict=True)) | times for size, times in rows.items()],
        "steps": {str(batch): times for batch, times in steps.items()},
        "unmet": unmet,
        "machine": machine(),
    }


def missed(rows: dict, steps: dict) -> list[str]:
    """The targets of the design that these times do not meet."""
    out = []
    for size, times in rows.items():
        for kind in ("", ", starts"):
            ratio = times[f"plain scan{kind}"] / times[f"longpass{kind}"]
            if size[3] >= 30 and ratio < 3:
                out.append(f"not met at {size}{kind}: {ratio:.2f}x the plain scan (target 3)")
        if times["torch LSTM"] < times["longpass"]:
            ratio = times["torch LSTM"] / times["longpass"]
            out.append(f"not met at {size}: {ratio:.2f}x PyTorch's LSTM (target 1)")
    if steps[1]["longpass"] > steps[1]["eqx GRUCell"]:
        ratio = steps[1]["longpass"] / steps[1]["eqx GRUCell"]
        out.append(f"not met: a step at B 1 takes {ratio:.2f} times eqx.nn.GRUCell's (target 1)")
    return out
