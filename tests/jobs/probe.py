"""A run on a probe, as actors and learner build it: remember a bit for four steps."""

import dataclasses

from longpass.agents import AgentSettings, Impala, conditioning
from longpass.networks import make_actor_critic
from tests.agents.probes import RECALL, Probe, ProbeParams


def build(key):
    return make_actor_critic(
        "chain",
        (1, 1, 4),
        5,
        output_size=16,
        num_pools=3,
        pool_size=16,
        viewport_size=8,
        **conditioning("chain"),
        key=key,
    )


@dataclasses.dataclass(frozen=True)
class ProbeConfig:
    """In the place of a `Config`. Gradients reach back 2 steps, the bit lies 3 back."""

    seed: int = 0
    settings: AgentSettings = dataclasses.field(
        default_factory=lambda: AgentSettings(
            envs=16, rollout=18, slices=1, block_every=2, stagger=20
        )
    )

    def trainer(self):
        return Impala(Probe(), ProbeParams(RECALL, 4), build, self.settings)
