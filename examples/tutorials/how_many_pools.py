# %% [markdown]
# # How many pools?
#
# A chain has two numbers to choose: how many pools, and the base of their rates. Both follow from
# one question: how many steps back must it reach? This tutorial answers it without training
# anything.

# %%
import jax
import matplotlib.pyplot as plt
import numpy as np

import longpass
from longpass import theory

# %% [markdown]
# ## By the horizon
#
# `pools_for(horizon, base)` is the fewest pools whose last one holds, on average, what was
# `horizon` steps ago. With base 2 every further pool doubles the reach:

# %%
print("horizon  base 1.5  base 2  base 3  base 4")
for horizon in (10, 30, 100, 300, 1000, 10_000):
    counts = [theory.pools_for(horizon, base) for base in (1.5, 2.0, 3.0, 4.0)]
    print(f"{horizon:7} {counts[0]:9} {counts[1]:7} {counts[2]:7} {counts[3]:7}")

# %% [markdown]
# `Concrete.for_horizon` does the same when it makes a memory:

# %%
memory = longpass.Concrete.for_horizon(10, 64, horizon=300, key=jax.random.key(0))
print(f"{memory.num_pools} pools, {memory.filters.rates[-1]:.4f} is the slowest rate")
assert memory.num_pools == theory.pools_for(300, 2.0) == 8

# %% [markdown]
# On a command line, `longpass pools --horizon 300` prints a table of these pools.
#
# ## What the base costs
#
# A larger base reaches as far with fewer pools, and sees less. `memory_capacity` says how much of
# an input of t steps ago a linear reader recovers: 1 is all of it, 0 nothing. Noise on the pools
# stands for everything that makes reading inexact.

# %%
horizon, noise = 300, 0.1
ages = np.arange(1, 1001)
figure, (left, right) = plt.subplots(
    1, 2, figsize=(9, 3), num="What a reader recovers of the past, by base and by noise"
)
for base in (1.5, 2.0, 3.0, 4.0):
    rates = longpass.rates(base, theory.pools_for(horizon, base))
    capacity = theory.memory_capacity(rates, 1000, noise=noise)
    left.loglog(ages, capacity, label=f"base {base:g}, {len(rates)} pools")
    print(f"base {base:g}: {len(rates):2} pools hold {capacity.sum():.1f} inputs' worth")
for noise in (0.001, 0.01, 0.1):
    capacity = theory.memory_capacity(longpass.rates(2.0, 8), 1000, noise=noise)
    right.loglog(ages, capacity, label=f"noise {noise:g}")
for axes, title in ((left, "by base, noise 0.1"), (right, "by noise, base 2")):
    axes.set(xlabel="steps ago", title=title, ylim=(1e-5, 2))
    axes.legend(fontsize=8)
left.set_ylabel("recovered")
plt.show()

# %% [markdown]
# Two lessons. Little can be recovered of what is far back, whatever the base: pools only decide
# where the capacity lies. And noise takes more from a small base, whose neighbouring pools hold
# nearly the same. Three times the pools (base 1.5 against 4) are not three times the memory.
# `count_distinct_pools` counts how many a reader can tell apart:

# %%
for base in (1.5, 2.0, 3.0, 4.0):
    rates = longpass.rates(base, theory.pools_for(horizon, base))
    distinct = theory.count_distinct_pools(rates, noise=0.1)
    print(f"base {base:g}: {len(rates):2} pools, {distinct:.1f} of them distinct")

# %% [markdown]
# ## A chain or a bank?
#
# `Parallel` feeds the input to every pool. All its windows are then largest at the newest input,
# so old inputs are always mixed with new ones; in a chain each pool has a window of its own.

# %%
figure, grid = plt.subplots(
    1, 2, figsize=(9, 2.8), sharex=True, num="Windows of a chain and of a parallel bank"
)
for axes, wiring in zip(grid, ("chain", "parallel"), strict=True):
    responses = theory.impulse_response(longpass.rates(2.0, 8), 1000, wiring)
    axes.semilogx(np.arange(1, 1001), (responses / responses.max(1, keepdims=True)).T)
    axes.set(xlabel="steps ago", title=wiring)
grid[0].set_ylabel("weight, scaled to 1")
plt.show()

# %% [markdown]
# ## Try it
#
# `longpass report` writes a page with a tab that has sliders for all of this.
#
# <!-- the explorer -->
#
# ## A rule
#
# - Take base 2 and as many pools as `for_horizon` gives.
# - If pools are normalised (`normalise="layer"`), one or two slower ones help: a pool that is
#   slower than the delay shows the oldest event most clearly.
# - If a task is about what happened *recently*, leave the slow pools out: a reader has to learn to
#   ignore them.
# - If the order of many events matters exactly, or one of many must be kept whole, no number of
#   pools helps ([when not to use it](../../docs/understand/when-not.md)).
#
# Next: [training with two-step gradients](two_step_gradients.py)
