"""A run's settings, complete: enough to build it again from what its folder says."""

import dataclasses
import functools
import json
from pathlib import Path
from typing import Any

import jax
from jaxtyping import PRNGKeyArray

from longpass import envs
from longpass.agents._gymnasium import HostImpala
from longpass.agents._impala import Impala
from longpass.agents._settings import AgentSettings, Hyper
from longpass.networks import ActorCritic
from longpass.records import write_atomically

_FILE = "settings.json"


def world_name(task: str) -> str:
    """The name of a task in the registry of worlds: settings have underscores for its dashes."""
    return task.replace("_", "-")


@dataclasses.dataclass(frozen=True)
class Config:
    """What a run is: everything that its results depend on but the machine."""

    task: str
    """One of the three worlds, or the name of a Gymnasium environment."""
    params: dict[str, Any]
    """The world's parameters."""
    network: dict[str, Any]
    """Arguments of `ActorCritic`, with its family."""
    hyper: dict[str, float]
    """Arguments of `Hyper`."""
    settings: AgentSettings = dataclasses.field(default_factory=AgentSettings)
    seed: int = 0
    dispatch: int = 40
    """Updates in one compiled call. Checkpoints lie between calls."""

    @property
    def gym(self) -> bool:
        """Whether the task is a Gymnasium environment."""
        return world_name(self.task) not in envs.WORLDS

    @property
    def title(self) -> str:
        """The task's name as people write it."""
        return self.task if self.gym else self.world()[0].title

    def world(self) -> tuple[envs.AnyEnvironment, Any]:
        """(environment, parameters) of a run on one of our worlds."""
        return envs.make(world_name(self.task), **self.params)

    def trainer(self) -> Impala | HostImpala:
        """What trains it."""
        if self.gym:
            return HostImpala(self.task, self.network, self.settings, self.seed)
        same = dataclasses.replace(self, hyper={}, seed=0, dispatch=1)
        return _impala(json.dumps(dataclasses.asdict(same)))

    def build(self, key: PRNGKeyArray) -> ActorCritic:
        """The network of a run on one of the three worlds."""
        env, _ = self.world()
        shape = env.observation_space().shape
        return ActorCritic(observation=shape, actions=env.action_space().n, key=key, **self.network)

    def check(self) -> None:
        """ValueError or TypeError where a setting is impossible. Nothing runs, and JAX does not
        look for devices yet."""
        jax.eval_shape(self.hypers)
        jax.eval_shape(self.build, jax.eval_shape(lambda: jax.random.key(0)))

    def hypers(self) -> Hyper:
        """Hyper-parameters as the learner takes them."""
        return Hyper(**self.hyper)

    def best(self) -> float | None:
        """The highest return there is, if that is known."""
        if self.gym:
            return None
        env, params = self.world()
        return env.max_score(params)

    def about(self) -> dict[str, Any]:
        """All settings in one flat JSON object, for checkpoints to compare."""
        flat: dict[str, Any] = {}
        for name, value in dataclasses.asdict(self).items():
            flat |= value if isinstance(value, dict) else {name: value}
        return flat

    def save(self, folder: Path) -> None:
        """Write settings.json into the run's folder."""
        write_atomically(folder / _FILE, lambda file: file.write(self.text().encode()))

    def text(self) -> str:
        """All settings as a JSON object, for `parse`."""
        return json.dumps(dataclasses.asdict(self), indent=1)

    @classmethod
    def parse(cls, text: str) -> "Config":
        """The settings that this JSON object says."""
        fields = json.loads(text)
        return cls(**fields | {"settings": AgentSettings(**fields["settings"])})

    @classmethod
    def load(cls, folder: Path) -> "Config":
        """The settings of the run in `folder`."""
        path = Path(folder) / _FILE
        try:
            return cls.parse(path.read_text())
        except (FileNotFoundError, NotADirectoryError):
            raise ValueError(
                f"RUN is {str(folder)!r}: it must be the folder of a run, with {_FILE} in it"
            ) from None
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path} is damaged or of another version ({error})") from None


# Runs that differ in what is not compiled in share a learner, and with it its programs.
@functools.lru_cache(maxsize=8)
def _impala(text: str) -> Impala:
    config = Config.parse(text)
    env, params = config.world()
    return Impala(env, params, config.build, config.settings)
