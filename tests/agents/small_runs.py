"""Settings of a run of the smallest network there is, which several modules train."""

import dataclasses

from longpass.cli._tasks import CuedCatchTask

from longpass._settings import AgentFields
from longpass.agents import configure

SHORT = CuedCatchTask(num_trials=3, initial_cue_duration=1, reward_free_trials=0)
FIELDS = AgentFields(
    pools=3,
    pool_size=8,
    viewport_size=4,
    summary_size=8,
    writer="slow",
    envs=4,
    rollout=20,
    slices=2,
    block_every=5,
    lag=1,
    seed=3,
    dispatch=2,
)
CONFIG = configure("cued_catch", dataclasses.asdict(SHORT), FIELDS)
# Environment steps of one call of the learner.
DISPATCH = 2 * CONFIG.settings.steps
