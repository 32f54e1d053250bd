"""A linear memory lets its reader and its timescale be learned apart (section 4.2 of the paper).

If a memory m is linear and f is a linear function of the input, then m(f(x)) = f(m(x)): a question
f about the present may be put to any window m onto the past, without learning the pair anew. Here
f is one matrix, and m is each of eight pools: both sides are equal up to rounding. An LSTM has no
such property.

Run: python examples/linear_memory.py
"""

import jax
import jax.numpy as jnp

from longpass.memory import LSTM, AbstractMemory, PoolChain, rates


def disagreement(memory: AbstractMemory, f: jax.Array, xs: jax.Array) -> float:
    """The largest |m(f(x)) - f(m(x))|, relative to the largest |f(m(x))|."""
    _, memory_of_f = memory.unroll(memory.initial_state(), xs @ f.T)
    _, memory_of_x = memory.unroll(memory.initial_state(), xs)
    f_of_memory = memory_of_x @ f.T
    return float(jnp.max(jnp.abs(memory_of_f - f_of_memory)) / jnp.max(jnp.abs(f_of_memory)))


def main() -> dict[str, float]:
    keys = jax.random.split(jax.random.key(0), 3)
    xs = jax.random.normal(keys[0], (500, 6))
    f = jax.random.normal(keys[1], (6, 6))
    result = {
        "pool chain": disagreement(PoolChain(6, rates(2.0, 8)), f, xs),
        "lstm": disagreement(LSTM(6, 6, key=keys[2]), f, xs),
    }
    for name, value in result.items():
        print(f"{name:12} |m(f(x)) - f(m(x))| / |f(m(x))| = {value:.1e}")
    return result


if __name__ == "__main__":
    main()
