# %% [markdown]
# # On a cluster
#
# Sweeps, studies and populations are lists of jobs. Where jobs run is one word: `"local"` for
# processes on this machine, `"ray"` for a Ray cluster. This tutorial trains three small
# classifiers, and would give the same results on both.

# %%
import dataclasses

from longpass.jobs import EngineName, Job, make_engine
from longpass.streams import StreamSettings, train_group

# %% [markdown]
# ## Jobs
#
# A job is an identifier and a payload. The work function, here `train_group`, takes a payload,
# reports its progress and returns a result. Workers import it, so it must be in a module.

# %%
settings = StreamSettings(memory="chain", truncation=2, symbols=60_000)
jobs = [
    Job(id=seed, payload=(dataclasses.replace(settings, seed=seed).resolved(),))
    for seed in range(3)
]


def run_jobs(engine):
    """The accuracy that each job ends with, by its id."""
    accuracies = {}
    for progress in engine.run(jobs):
        assert progress.state != "failed", progress.error
        if progress.state == "done":
            (line,) = progress.result
            accuracies[progress.job.id] = line["accuracy"]
            print(f"job {progress.job.id} is done: accuracy {line['accuracy']:.3f}")
    return accuracies


# %% [markdown]
# ## Running them
#
# An engine starts processes that import this file, so a script needs the usual guard.
# `make_engine("ray", ...)` starts Ray on this machine and stops it at the end. With
# `address="auto"` it joins the cluster that runs here, and with `address="HOST:PORT"` another one.
# Nodes need the same Python and the same version of longpass, and no shared file system: only the
# driver writes files.

# %%
ENGINES: list[EngineName] = ["local"]  # add "ray" if it is installed

if __name__ == "__main__":
    results = []
    for name in ENGINES:
        with make_engine(name, train_group, workers=1) as engine:
            results.append(run_jobs(engine))
    assert all(result == results[0] for result in results)

# %% [markdown]
# Equal seeds give equal results, wherever they run. If a worker is lost, another one is started and
# its job begins again; if the driver is killed, the next start of a sweep runs what is not recorded
# yet.
#
# The commands have the same choice: `longpass sweep`, `benchmark`, `study`, `pbt` and `train` take
# `--engine ray` and `--address`. `longpass train --engine ray --actors 4` acts in four processes
# and learns in one. [On a cluster](../../docs/cluster.md) says what is sent, and what happens when
# something is lost.
