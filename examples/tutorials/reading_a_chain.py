# %% [markdown]
# # Reading a chain
#
# The memory of an LP-RNN is a chain of low-pass filters, its *pools*. Nothing in it is learned.
# This tutorial looks at what it holds, and shows that the past can be read from it.

# %%
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import longpass
from longpass import theory

# %% [markdown]
# ## The windows of the pools
#
# Pool n moves towards pool n - 1 by a fraction of 2^-n at every step. So pool 1 holds what was
# just seen, and each pool after it is slower. The *impulse response* of a pool says how much an
# input of t steps ago counts in it now.

# %%
rates = longpass.rates(2.0, 7)
responses = theory.impulse_response(rates, 400)  # (7 pools, 400 ages)
responses /= responses.max(axis=1, keepdims=True)

figure, axes = plt.subplots(figsize=(8, 3), num="The window of each of seven pools")
for pool, response in enumerate(responses, 1):
    axes.plot(response, label=f"pool {pool}")
axes.set(xlabel="steps ago", ylabel="weight, scaled to 1", xlim=(0, 400))
axes.legend(fontsize=8)
plt.show()

# %% [markdown]
# Each pool looks at its own part of the past. The further back it is, the wider it is: a slow
# pool says what happened long ago, but not exactly when. The same in numbers:

# %%
print("pool  mean age  spread")
for pool, (mean, spread) in enumerate(
    zip(theory.mean_delay(rates), theory.spread(rates), strict=True), 1
):
    print(f"{pool:4} {mean:9.0f} {spread:7.1f}")

# %% [markdown]
# ## A message flows through
#
# `PoolChain` is the chain alone. Let us show it a picture for one step, wait, and look at the
# pools. Its state has the shape `(pools, units)`; time is the first axis of what `unroll` takes
# and returns.

# %%
picture = np.array(
    [
        [0, 1, 1, 1, 0],
        [1, 0, 0, 0, 1],
        [1, 0, 1, 0, 1],
        [1, 0, 0, 0, 1],
        [0, 1, 1, 1, 0],
    ],
    np.float32,
)
chain = longpass.PoolChain(25, rates)
xs = np.zeros((240, 25), np.float32)
xs[0] = picture.ravel()
_, pools = chain.unroll(chain.initial_state(), jnp.asarray(xs))  # (240 steps, 7 pools, 25 units)

moments = (1, 10, 40, 120, 239)
figure, grid = plt.subplots(
    len(moments), 7, figsize=(7, 5.4), num="The pools after 1, 10, 40, 120 and 239 steps"
)
for row, moment in zip(grid, moments, strict=True):
    for pool, axes in enumerate(row):
        contents = np.asarray(pools[moment, pool]).reshape(5, 5)
        axes.imshow(contents, cmap="Greys", vmin=0, vmax=pools[moment].max())
        axes.set(xticks=[], yticks=[])
    row[0].set_ylabel(f"step {moment}")
for pool, axes in enumerate(grid[0], 1):
    axes.set_title(f"pool {pool}", fontsize=9)
plt.show()

# %% [markdown]
# The picture travels from pool to pool and stays legible: every unit is filtered in the same way,
# so pictures are blended in time but not in space.
#
# ## Linear, and what follows
#
# A chain is linear. What two messages leave is the sum of what each leaves, and a linear layer
# may stand before the chain or behind it. Here a random projection of the input is filtered, and
# a filtered input is projected:

# %%
projection = np.random.default_rng(0).normal(size=(25, 25)).astype(np.float32)
signal = np.random.default_rng(1).normal(size=(240, 25)).astype(np.float32)
_, before = chain.unroll(chain.initial_state(), jnp.asarray(signal @ projection))
_, after = chain.unroll(chain.initial_state(), jnp.asarray(signal))
difference = abs(np.asarray(before) - np.asarray(after) @ projection).max()
print(f"largest difference: {difference:.1e}")
assert difference < 1e-4

# %% [markdown]
# ## Reading the past back
#
# Seven numbers cannot say what 200 inputs were. `theory.reconstruct` finds the past that fits
# them best, by least squares. One input, seen 60 steps ago, comes back as a bump near the right
# place, as wide as the pools that hold it, with some ripples where nothing was:

# %%
signal = np.zeros((200, 1))
signal[200 - 60 - 1] = 1.0
contents = np.zeros((7, 1))
A, c = theory.transition(rates)
for x in signal:
    contents = A @ contents + c[:, None] * x
past = theory.reconstruct(contents, rates, 200, noise=1e-4)[:, 0]

figure, axes = plt.subplots(figsize=(8, 2.4), num="The past that is read from seven pools")
axes.plot(past)
axes.axvline(60, linestyle=":", color="black")
axes.set(xlabel="steps ago", ylabel="estimate", xlim=(0, 200))
plt.show()
print(f"the estimate is largest {past.argmax()} steps ago")
assert abs(past.argmax() - 60) < 15

# %% [markdown]
# In a network nobody solves least squares: `longpass.Concrete` puts a small learned layer, a
# *viewport*, on each pool, and another one on all viewports. These learn what to look for. The
# pools only hold it.
#
# Next: [how many pools does a task need?](how_many_pools.py)
