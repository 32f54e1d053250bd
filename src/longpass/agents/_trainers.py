"""What trains a run."""

from typing import Protocol, runtime_checkable

from jaxtyping import PRNGKeyArray

from longpass.agents._gymnasium import GymnasiumImpala
from longpass.agents._impala import Impala, TrainState, UpdateResult
from longpass.agents._networks import NetworkBuilder
from longpass.agents._settings import HyperParams, RunSettings


@runtime_checkable
class Trainer(Protocol):
    """What a run needs of its trainer: `Impala`, `GymnasiumImpala` or `RayImpala`."""

    def start(self, key: PRNGKeyArray) -> TrainState:
        """The state before the first update."""
        ...

    def restore(self, state: TrainState) -> TrainState:
        """Prepare a loaded state for further training."""
        ...

    def state_shapes(self) -> TrainState:
        """The shapes and dtypes of a state, without compiling or playing."""
        ...

    def train_steps(
        self, state: TrainState, hyper: HyperParams, updates: int
    ) -> tuple[TrainState, UpdateResult]:
        """Make several updates; `state` cannot be used afterwards."""
        ...


def make_trainer(run: RunSettings) -> Impala | GymnasiumImpala:
    """The trainer of a run on this machine.

    **Arguments:**

    - `run`: its settings, complete.

    **Returns:**

    An `Impala` for one of our worlds, a `GymnasiumImpala` for an environment of Gymnasium.
    """
    agent = run.agent
    if run.is_gymnasium:
        return GymnasiumImpala(run.env, run.params, agent.network, agent.learner, run.seed)
    env = run.load_environment()
    shape, actions = env.observation_space().shape, env.action_space().n
    build = NetworkBuilder(agent.network, shape, actions)
    return Impala(env, run.params, build, agent.learner)
