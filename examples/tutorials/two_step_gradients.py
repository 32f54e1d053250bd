# %% [markdown]
# # Training with two-step gradients
#
# A cue, one of four symbols, is followed by 40 distractors. Then the network must name the cue.
# Gradients reach back two steps, so none of them connects the answer with the cue. A chain learns
# it all the same.

# %%
import equinox as eqx
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import optax

from longpass import LSTM, Concrete

CUES, SYMBOLS, DELAY, BATCH = 4, 8, 40, 32


def draw_batch(key):
    """One-hot sequences (time, batch, symbols), and the cue of each."""
    symbols = jax.random.randint(key, (DELAY + 1, BATCH), CUES, SYMBOLS).at[0].add(-CUES)
    return jax.nn.one_hot(symbols, SYMBOLS), symbols[0]


# %% [markdown]
# ## What `block_every` does
#
# `unroll` reads a sequence. With `block_every=2`, gradients through the carried state are stopped
# every two steps, and nothing else changes: outputs are the same to the bit. Here is the gradient
# of the last output with respect to each input.

# %%
key = jax.random.key(0)
memories = {
    "Concrete": Concrete.for_horizon(SYMBOLS, 64, horizon=DELAY, normalise="layer", key=key),
    "LSTM": LSTM(SYMBOLS, 64, key=key),
}
xs, _ = draw_batch(key)
figure, axes = plt.subplots(figsize=(8, 2.6), num="How far gradients reach back")
for name, memory in memories.items():
    for block_every, style in ((None, "-"), (2, ":")):

        def last_output(xs, memory=memory, block_every=block_every):
            return memory.unroll(memory.initial_state(), xs, block_every=block_every)[1][-1].sum()

        reach = abs(jax.jit(jax.grad(last_output))(xs[:, 0])).sum(1)[::-1]
        axes.semilogy(reach.clip(1e-12), style, label=f"{name}, block_every={block_every}")
        if block_every is not None:
            assert (reach[2:] == 0).all()
axes.set(xlabel="steps ago", ylabel="size of the gradient", ylim=(1e-9, 10))
axes.legend(fontsize=8)
plt.show()

# %% [markdown]
# With `block_every=2` both end within two steps. Even without it, the gradients of a chain fall
# by half per step, because only its fastest pool passes any (`gradient_pools=1`, as in the
# paper). They reach an LSTM's first input nearly undiminished, if they are allowed to.
#
# ## Training
#
# The network is a memory and a linear layer; the optimiser is Adam.


# %%
def train(memory, key, block_every, updates=250):
    """The accuracy on each batch."""
    network = memory, eqx.nn.Linear(64, CUES, key=key)
    optimiser = optax.adam(5e-3)

    def loss(network, key):
        memory, head = network
        xs, cues = draw_batch(key)
        start = memory.initial_state((BATCH,))
        _, ys = memory.unroll_batch(start, xs, block_every=block_every)
        logits = jax.vmap(head)(ys[-1])
        cost = optax.softmax_cross_entropy_with_integer_labels(logits, cues).mean()
        return cost, (logits.argmax(-1) == cues).mean()

    @eqx.filter_jit
    def update(network, state, key):
        gradient, accuracy = eqx.filter_grad(loss, has_aux=True)(network, key)
        change, state = optimiser.update(gradient, state)
        return eqx.apply_updates(network, change), state, accuracy

    state = optimiser.init(eqx.filter(network, eqx.is_array))
    accuracies = []
    for batch_key in jax.random.split(key, updates):
        network, state, accuracy = update(network, state, batch_key)
        accuracies.append(accuracy)
    return jnp.array(accuracies)


curves = {
    "Concrete, block_every=2": train(memories["Concrete"], key, 2),
    "LSTM, block_every=2": train(memories["LSTM"], key, 2),
}
figure, axes = plt.subplots(figsize=(8, 2.6), num="Accuracy while training")
for name, accuracies in curves.items():
    axes.plot(jnp.convolve(accuracies, jnp.ones(10) / 10, mode="valid"), label=name)
    print(f"{name}: {accuracies[-25:].mean():.2f} (chance: {1 / CUES})")
axes.axhline(1 / CUES, linestyle=":", color="black")
axes.set(xlabel="updates", ylabel="accuracy", ylim=(0, 1.02))
axes.legend(fontsize=8)
plt.show()
assert curves["Concrete, block_every=2"][-25:].mean() > 0.9
assert curves["LSTM, block_every=2"][-25:].mean() < 0.5

# %% [markdown]
# ## Why it works
#
# The chain holds the cue without having learned to: after 40 steps it is in the slow pools. What
# must be learned is to *read* it there, and that is a feed-forward layer between the pools and
# the answer of the same step. Its gradient needs no time at all. An LSTM must learn to hold the
# cue as well, and for that its gradient has to reach the moment at which the cue was shown.
#
# `normalise="layer"` is ours, not the paper's: slow pools average over many steps, so what they
# hold is small, and bringing every pool to one scale makes reading easier to learn. [The
# memory](../../docs/understand/memory.md) has the equations.
#
# Next: [an agent that remembers](an_agent_that_remembers.py)
