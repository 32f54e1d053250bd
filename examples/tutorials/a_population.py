# %% [markdown]
# # A population
#
# Hyper-parameters are guesses. Population based training tries several at once: agents with
# different ones train side by side, and after each round an agent copies the weights of another
# if a t-test says that the other one scores better. Hyper-parameters are not copied.

# %%
import json
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

from longpass.agents import (
    Population,
    PopulationPlan,
    resolve_settings,
    run_populations,
    train_round,
)
from longpass.envs import make
from longpass.jobs import make_engine

# %% [markdown]
# ## The plan
#
# All members share the world and the network. Their learning rates, entropy costs and optimisers'
# epsilons are drawn around those of the run, and each has a seed of its own.

# %%
_, params = make("cued-catch", num_trials=16, reward_free_trials=6)
small = {"pool_size": 64, "viewport_size": 16, "output_size": 64, "updates_per_call": 10}
run = resolve_settings("cued-catch", params, {"block_every": 3, **small})
plan = PopulationPlan(run=run, size=3, rounds=2, episodes=400, window=200)
population = Population(plan, Path(tempfile.mkdtemp()) / "population")
for member, member_run in enumerate(population.runs):
    hyper = member_run.agent.hyper
    print(
        f"member {member}: learning rate {hyper.learning_rate:.1e}, "
        f"entropy cost {hyper.entropy_cost:.1e}, epsilon {hyper.epsilon:.1e}"
    )

# %% [markdown]
# ## Training
#
# A round of a member is a job. An *engine* runs jobs: in processes on this machine, or on a Ray
# cluster. It starts processes that import this file, so a script needs the usual guard.

# %%
if __name__ == "__main__":
    with make_engine("local", train_round, workers=1) as engine:
        for progress in run_populations([population], engine):
            if progress.state == "done":
                _, member = progress.job.id
                print(f"member {member} finished round {progress.job.payload.number}")
            assert progress.state != "failed", progress.error

# %% [markdown]
# `longpass pbt cued-catch` does the same in the paper's world, with a live table; `--members`,
# `--rounds` and `--episodes` set the plan.
# The folder holds everything: the plan, the members' records and checkpoints, and every
# comparison.

# %%
if __name__ == "__main__":
    for line in (population.out / "audit.jsonl").read_text().splitlines():
        found = json.loads(line)
        print(
            f"round {found['round']}: member {found['member']} ({found['mean']:.1f}) looked at "
            f"{found['other']} ({found['other_mean']:.1f}): p = {found['p']:.2g}, "
            f"{'copied' if found['copied'] else 'kept its own weights'}"
        )
    figure, axes = plt.subplots(figsize=(6, 2.6), num="Mean return of each member, by round")
    for member in range(plan.size):
        lines = population.records(member).read()
        rounds = [line for line in lines if line["event"] == "round"]
        means = [line["mean"] for line in rounds]
        axes.plot(range(1, len(means) + 1), means, "o-", label=f"member {member}")
    axes.set(xlabel="round", ylabel="mean return", xticks=[1, 2], ylim=(0, run.max_return()))
    axes.legend(fontsize=8)
    plt.show()
    assert max(row["mean"] for row in population.summary()) > 6

# %% [markdown]
# A killed population resumes: `Population(plan, out, resume=True)` trains what is missing and
# leaves the same files. [Populations](../../docs/populations.md) has every choice that the paper
# leaves open.
#
# Next: [on a cluster](on_a_cluster.py)
