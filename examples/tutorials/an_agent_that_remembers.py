# %% [markdown]
# # An agent that remembers
#
# In Cued Catch two balls approach, and a cue says which one to catch. What each of the four cues
# means is drawn anew in each episode and shown once, at its start. The first trials pay nothing,
# so that the agent has to remember for a long time before any reward says so. Without memory it
# earns half of what there is.

# %%
import tempfile
from pathlib import Path

import jax
import matplotlib.pyplot as plt
import numpy as np

from longpass.agents import (
    episode_scores,
    learning_curve,
    load_network,
    play_policy,
    resolve_settings,
    train_agent,
)
from longpass.envs import make, paint_boards

# %% [markdown]
# ## The world
#
# `make` gives an environment and its parameters. The paper's episodes have 100 trials; ours have
# 16, the first 6 of them without reward, so that training takes seconds.

# %%
env, params = make("cued-catch", num_trials=16, reward_free_trials=6)
print(f"episodes have about {env.episode_length(params)} steps")
print(f"memory must span {env.memory_span(params)} of them")
best = float(env.max_score(params))
print(f"the highest possible return is {best:g}")

# %% [markdown]
# ## The agent
#
# `resolve_settings` completes the settings of a run: what is not given is the default of the
# task. We take a smaller network than usual, and gradients over three steps.

# %%
small = {"pool_size": 64, "viewport_size": 16, "output_size": 64, "updates_per_call": 10}
run = resolve_settings("cued-catch", params, {"block_every": 3, **small})
print(f"{run.agent.network.num_pools} pools, block_every {run.agent.learner.block_every}")

folder = Path(tempfile.mkdtemp()) / "catch"
progress = train_agent(run, folder, steps=360_000)
earned = progress.mean_return(100)
print(f"{progress.episodes} episodes; the last 100 earned {earned:.1f}")
assert (earned or 0.0) > 8.5

# %% [markdown]
# `longpass train cued-catch --block-every 3 --out catch` does the same in the paper's world, with
# a network of the usual size and a live panel.
# The folder holds the settings, one line of `records.jsonl` per compiled call, and two
# checkpoints, from which an interrupted run resumes exactly.

# %%
curve = learning_curve(folder)
figure, axes = plt.subplots(figsize=(8, 2.6), num="Return while learning")
axes.plot([line["steps"] for line in curve], [line["return_100"] for line in curve])
axes.axhline(best, linestyle=":", color="black")
axes.axhline(best / 2, linestyle=":", color="grey")
axes.set(xlabel="environment steps", ylabel="mean return of 100 episodes", ylim=(0, None))
plt.show()

# %% [markdown]
# ## An episode, and what is in the memory
#
# `load_network` reads what was trained. `play_policy` plays an episode and keeps what the
# memory holds after each frame.

# %%
run, network, _ = load_network(folder)
scores = episode_scores(run, network, 100, jax.random.key(1), greedy=True)
print(f"greedily it earns {scores.mean():.2f} of {best:g}")
assert scores.mean() > 8.5

played = play_policy(env, params, network, seed=2)
pools = np.stack(played.memory, axis=1)  # (frames, pools, units)

figure, (above, below) = plt.subplots(
    2, 1, figsize=(9, 5), height_ratios=(1, 2), num="Four frames, and the pools over time"
)
boards = paint_boards(env, played.episode.boards[10:50:10])
above.imshow(np.concatenate([np.pad(board, ((0, 0), (0, 1), (0, 0))) for board in boards], axis=1))
above.set(xticks=[], yticks=[], title="frames 10, 20, 30 and 40")
scaled = pools - pools.mean(axis=(0, 2), keepdims=True)
scaled /= pools.std(axis=(0, 2), keepdims=True) + 1e-6
rows = scaled[:, :, :12].transpose(1, 2, 0).reshape(-1, len(pools))
below.imshow(rows, aspect="auto", cmap="RdBu_r", vmin=-2, vmax=2)
below.set(xlabel="step", ylabel="pool", title="twelve units of each pool")
below.set_yticks(np.arange(len(rows) // 12) * 12 + 6, range(1, len(rows) // 12 + 1))
plt.show()

# %% [markdown]
# The four cues are shown in the first 40 steps. They pass the fast pools at the top, which then
# flicker with the trials, and arrive in the slow ones at the bottom, where they stay until the
# end. `longpass film cued-catch --policy catch -o catch.gif` shows it in motion.
#
# ## What to know
#
# - The input layer of this agent is not trained (`writer="frozen"`). Slow pools hold inputs that
#   were embedded hundreds of steps ago, so an embedding that moves makes them illegible. [The
#   study of the conditioning](../../docs/understand/conditioning.md) shows how much this matters.
# - [Agents](../../docs/agents.md) has every setting and what is computed.
#
# Next: [a population](a_population.py)
