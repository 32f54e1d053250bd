"""Every memory there is, small, and every form of its unroll: what the laws run over."""

import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from longpass.memory import (
    Concrete,
    Gate,
    OrthonormalTanh,
    Parallel,
    PoolBank,
    PoolChain,
    Projection,
    find_memory,
    rates,
)
from longpass.memory._concrete import unroll_pooled
from longpass.memory._filters import chunk_form, scan_form
from longpass.memory._frozen_pools import read_at_once, read_by_chunks, read_in_stretches
from longpass.memory._names import MEMORIES as NAMED
from longpass.memory._pools import unroll_pools

SIZES = {"num_pools": 3, "pool_size": 4, "viewport_size": 3, "base": 1.7}
OUTPUT = 5


def _gate(dtype):
    """A gate that its input moves: the initial one has no weights yet."""
    gate = Gate(4, 3, dtype=dtype)
    weights = jax.random.normal(jax.random.key(3), gate.matrices.shape, dtype)
    return jax.tree.map(lambda leaf: weights if leaf is gate.matrices else leaf, gate)


def _concrete(dtype, kind: type[Concrete] | type[Parallel] = Concrete, inputs=4, **options):
    return kind(inputs, OUTPUT, **SIZES, **options, dtype=dtype, key=jax.random.key(1))


def _named(name, dtype):
    make: Any = find_memory(name).load()
    return make(4, OUTPUT, dtype=dtype, key=jax.random.key(1))


# Each class and each kind of link once; the options of Concrete are spread over its entries,
# because every entry costs the laws dozens of programs to compile.
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
    "concrete, projection": lambda dtype: _concrete(
        dtype, link=Projection(4, 3, dtype=dtype), gradient_pools=3
    ),
    "parallel": lambda dtype: _concrete(dtype, Parallel, inputs=2, gradient_pools=2),
    # LSTM, GRU and any other that has a name.
    **{name: functools.partial(_named, name) for name in NAMED if not NAMED[name].has_pools},
}


@functools.cache
def build(name, dtype=jnp.float64):
    # By one program: op by op, JAX would compile one for every weight.
    return eqx.filter_jit(lambda: MEMORIES[name](dtype))()


def unroll(memory, *args):
    """The form that production takes here."""
    return memory.unroll(*args)


def unroll_batch_of_one(memory, state, xs, starts, block_every):
    states = jax.tree.map(lambda leaf: leaf[None], state)
    starts = None if starts is None else starts[:, None]
    states, ys = memory.unroll_batch(states, xs[:, None], starts, block_every)
    return jax.tree.map(lambda leaf: leaf[0], states), ys[:, 0]


_POOLS = {
    "scan": functools.partial(unroll_pools, form=scan_form),
    "chunks": functools.partial(unroll_pools, form=chunk_form),
}
_KEPT = functools.partial(unroll_pooled, filter_form=scan_form, read_form=read_at_once)
# Stretches of 16 steps: a long unroll has many, and a rest.
_STRETCHES = functools.partial(
    unroll_pooled,
    filter_form=scan_form,
    read_form=functools.partial(read_in_stretches, steps=16),
)
_CHUNKS = functools.partial(unroll_pooled, filter_form=chunk_form, read_form=read_by_chunks)
_LINKED = {
    "scan": functools.partial(unroll_pooled, filter_form=scan_form),
    "chunks": functools.partial(unroll_pooled, filter_form=chunk_form),
}
_EVERY = {"unroll": unroll}
# Forms by memory. Where production can only take one form, "unroll" is that form. Most memories
# inherit an `unroll_batch` that maps `unroll`, which has laws of its own; others are forms.
FORMS = dict.fromkeys(MEMORIES, _EVERY) | {
    "lstm": _EVERY | {"batch": unroll_batch_of_one},
    "chain": _EVERY | _POOLS,
    "bank": _EVERY | _POOLS,
    "chain, tanh": _EVERY | _POOLS,
    "chain, gate": _EVERY | _POOLS,
    "concrete": _EVERY | {"at once": _KEPT, "stretches": _STRETCHES, "chunks": _CHUNKS},
    # Normalised pools are not linear, so that views do not commute with filters.
    "concrete, layer": _EVERY | {"at once": _KEPT, "stretches": _STRETCHES},
    "concrete, projection": _EVERY | _LINKED,
    "parallel": _EVERY | {"at once": _KEPT, "stretches": _STRETCHES, "chunks": _CHUNKS},
}


def sample(memory, length, seed, start_chance=0.15):
    """A state, inputs and starts for `memory`, all random.

    NumPy draws them: JAX would compile a program for every shape.
    """
    rng = np.random.default_rng(seed)
    shapes = eqx.filter_eval_shape(memory.initial_state)
    state = jax.tree.map(lambda leaf: draw_normal(rng, leaf.shape, leaf.dtype, 0.5), shapes)
    xs = draw_normal(rng, (length, memory.input_size), memory.dtype)
    return state, xs, jnp.asarray(rng.random(length) < start_chance)


def draw_normal(rng, shape, dtype, scale=1.0):
    """Random numbers of any floating type, also complex ones."""
    numbers = rng.standard_normal(shape)
    if jnp.issubdtype(dtype, jnp.complexfloating):
        numbers = numbers + 1j * rng.standard_normal(shape)
    return jnp.asarray(scale * numbers, dtype)


def weigh(tree):
    """A scalar that depends on every number of `tree`, nonlinearly, and on its place."""
    total = 0.0
    for leaf in jax.tree.leaves(tree):
        places = jnp.cos(jnp.arange(leaf.size, dtype=leaf.dtype)).reshape(leaf.shape)
        total += jnp.sum(places * leaf + 0.1 * leaf**2)
    return total
