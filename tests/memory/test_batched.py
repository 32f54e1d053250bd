"""Many streams at once give what each gives alone, in outputs and gradients."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from longpass.memory import GRU, LSTM, Concrete, unroll_batch

MEMORIES = {
    "lstm": LSTM(3, 5, key=jax.random.key(0)),
    "gru": GRU(3, 5, key=jax.random.key(0)),
    "chain": Concrete(
        3,
        pool_size=4,
        pools=3,
        base=2.0,
        viewport_size=2,
        summary_size=3,
        activation=jnp.tanh,
        key=jax.random.key(0),
    ),
}


@pytest.mark.parametrize("block_every", [None, 4])
@pytest.mark.parametrize("started", [False, True])
@pytest.mark.parametrize("name", MEMORIES)
def test_a_batch_is_its_streams(name, started, block_every):
    memory = MEMORIES[name]
    T, B = 11, 3
    keys = jax.random.split(jax.random.key(1), 4)
    xs = jax.random.normal(keys[0], (T, B, 3))
    starts = jax.random.bernoulli(keys[1], 0.2, (T, B)) if started else None
    states = jax.tree.map(
        lambda leaf: jax.random.normal(keys[2], (B, *leaf.shape)), memory.initial_state()
    )
    weights = jax.random.normal(keys[3], (T, B, *memory.output_shape))

    def alone(memory, states, xs):
        def one(state, x, start):
            return memory.unroll(state, x, start, block_every)

        return jax.vmap(one, in_axes=(0, 1, 1), out_axes=(0, 1))(states, xs, starts)

    def together(memory, states, xs):
        return unroll_batch(memory, states, xs, starts, block_every)

    def value(form):
        @eqx.filter_jit
        @eqx.filter_value_and_grad
        def of(inputs):
            states, ys = form(*inputs)
            return jnp.sum(weights * ys) + sum(
                jnp.sum(jnp.sin(leaf)) for leaf in jax.tree.leaves(states)
            )

        return of((memory, states, xs))

    for mine, theirs in zip(
        jax.tree.leaves(value(together)), jax.tree.leaves(value(alone)), strict=True
    ):
        np.testing.assert_allclose(mine, theirs, atol=1e-12)
