"""Recall a symbol after 60 steps, although gradients reach back two steps only.

A cue, one of four symbols, is followed by 60 random distractors; then the network has to say which
cue it was. `block_every=2` stops gradients through the memory every two steps, so no gradient
connects the answer with the cue. The pools of `Concrete` hold the cue without having learned to,
and its reader learns to find it there. An LSTM would have to learn to hold it.

    python examples/recall.py
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from longpass.memory import LSTM, AbstractMemory, Concrete

CUES, SYMBOLS, DELAY = 4, 8, 60
BATCH, UPDATES = 32, 200


def draw_batch(key: jax.Array) -> tuple[jax.Array, jax.Array]:
    """One-hot sequences (time, batch, symbols), and the cue of each."""
    cue_key, distractor_key = jax.random.split(key)
    cues = jax.random.randint(cue_key, (BATCH,), 0, CUES)
    distractors = jax.random.randint(distractor_key, (DELAY, BATCH), CUES, SYMBOLS)
    return jax.nn.one_hot(jnp.concatenate([cues[None], distractors]), SYMBOLS), cues


def answer(network: tuple[AbstractMemory, eqx.nn.Linear], xs: jax.Array) -> jax.Array:
    """Logits (batch, cues) after sequences (time, batch, symbols)."""
    memory, head = network
    _, ys = memory.unroll_batch(memory.initial_state((BATCH,)), xs, block_every=2)
    return jax.vmap(head)(ys[-1])


def train(memory: AbstractMemory, key: jax.Array) -> float:
    """The accuracy on new sequences after training."""
    network = (memory, eqx.nn.Linear(memory.output_shape[0], CUES, key=key))
    optimiser = optax.adam(5e-3)
    state = optimiser.init(eqx.filter(network, eqx.is_array))

    @eqx.filter_jit
    def update(network, state, key):
        def loss(network, xs, cues):
            return optax.softmax_cross_entropy_with_integer_labels(answer(network, xs), cues).mean()

        gradients = eqx.filter_grad(loss)(network, *draw_batch(key))
        steps, state = optimiser.update(gradients, state)
        return eqx.apply_updates(network, steps), state

    for number in range(UPDATES):
        network, state = update(network, state, jax.random.fold_in(key, number))
    xs, cues = jax.vmap(draw_batch)(jax.random.split(jax.random.fold_in(key, UPDATES), 10))
    logits = eqx.filter_jit(jax.vmap(answer, in_axes=(None, 0)))(network, xs)
    return float(jnp.mean(jnp.argmax(logits, axis=-1) == cues))


def main() -> dict[str, float]:
    key = jax.random.key(0)
    concrete = Concrete.for_horizon(SYMBOLS, 64, horizon=DELAY, normalise="layer", key=key)
    result = {"Concrete": train(concrete, key), "LSTM": train(LSTM(SYMBOLS, 64, key=key), key)}
    for name, accuracy in result.items():
        print(f"{name:8} {accuracy:.2f} right after {DELAY} steps (chance: {1 / CUES:.2f})")
    return result


if __name__ == "__main__":
    main()
