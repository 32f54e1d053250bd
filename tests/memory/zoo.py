"""Every memory there is, small: what the laws run over."""

import jax
import jax.numpy as jnp

from longpass.memory import (
    GRU,
    LSTM,
    Concrete,
    Gate,
    OrthonormalTanh,
    Parallel,
    PoolBank,
    PoolChain,
    rates,
)

SIZES = {"pool_size": 4, "pools": 3, "viewport_size": 3, "summary_size": 5, "base": 1.7}


def _gate(dtype):
    """A gate that its input moves: the initial one has no weights yet."""
    gate = Gate(4, 3, dtype=dtype)
    weights = jax.random.normal(jax.random.key(3), gate.matrices.shape, dtype)
    return jax.tree.map(lambda leaf: weights if leaf is gate.matrices else leaf, gate)


def _concrete(dtype, kind=Concrete, inputs=4, **options):
    return kind(inputs, **SIZES, **options, dtype=dtype, key=jax.random.key(1))


# Each class and each kind of link once; the settings of Concrete are spread over its entries,
# because every entry costs the laws some forty programs to compile.
MEMORIES = {
    "chain": lambda dtype: PoolChain(4, [0.3, 1.0, 0.3, 0.001], dtype=dtype),
    "bank": lambda dtype: PoolBank(4, rates(2.0, 3), dtype=dtype),
    "chain, tanh": lambda dtype: PoolChain(
        4,
        rates(2.0, 3),
        link=OrthonormalTanh(4, 3, dtype=dtype, key=jax.random.key(2)),
        dtype=dtype,
    ),
    "chain, gate": lambda dtype: PoolChain(4, rates(2.0, 3), link=_gate(dtype), dtype=dtype),
    "concrete": _concrete,
    "concrete, layer": lambda dtype: _concrete(
        dtype, inputs=7, normalise="layer", gradient_pools=2, read_input=False
    ),
    "concrete, projection": lambda dtype: _concrete(dtype, link="projection", gradient_pools=3),
    "parallel": lambda dtype: _concrete(dtype, Parallel, inputs=2, gradient_pools=2),
    "lstm": lambda dtype: LSTM(4, 5, dtype=dtype, key=jax.random.key(1)),
    "gru": lambda dtype: GRU(4, 5, dtype=dtype, key=jax.random.key(1)),
}


def sample(memory, length, seed, start_chance=0.15):
    """A state, inputs and starts for `memory`, all random."""
    keys = jax.random.split(jax.random.key(seed), 3)
    state = jax.tree.map(
        lambda leaf: 0.5 * jax.random.normal(keys[0], leaf.shape, leaf.dtype),
        memory.initial_state(),
    )
    xs = jax.random.normal(keys[1], (length, memory.input_size), memory.dtype)
    starts = jax.random.bernoulli(keys[2], start_chance, (length,))
    return state, xs, starts


def weigh(tree):
    """A scalar that depends on every number of `tree`, nonlinearly, and on its place."""
    total = 0.0
    for leaf in jax.tree.leaves(tree):
        places = jnp.cos(jnp.arange(leaf.size, dtype=leaf.dtype)).reshape(leaf.shape)
        total += jnp.sum(places * leaf + 0.1 * leaf**2)
    return total
