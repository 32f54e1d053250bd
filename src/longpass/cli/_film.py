"""`longpass film WORLD`."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from rich.console import Console

from longpass._json import JsonObject
from longpass.cli._worlds import WorldParams, changed_params, environment_of

if TYPE_CHECKING:
    from longpass.envs import AnyEnvironment, Params
    from longpass.networks import ActorCritic

_LEAST_FPS = 0.01  # GIF cannot show a frame for much longer


@dataclasses.dataclass
class Film:
    """Write an episode as an animated GIF.

    The random player takes each action with equal probability; the scripted one knows the hidden
    draws and plays perfectly. A trained agent draws its actions as in training, and its memory is
    shown beside the board: one tile per pool, fastest first, each on its own scale.
    """

    world: WorldParams
    """What is played. Every parameter can be set: longpass film t-maze --limbo-time 20."""
    policy: str = "scripted"
    """Who plays: random, scripted, or a trained agent: the folder of a run (longpass train --out),
    a file (longpass export), or pretrained:NAME. The parameters of the world are then those of the
    agent; flags that differ from their defaults replace them."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("film.gif")
    """The file to write."""
    fps: float = 20.0
    """Frames per second."""
    seed: int = 0
    """Seed of the hidden draws and of random actions."""
    json: bool = False
    """Print one JSON object on standard output, and nothing else there."""

    def run(self, console: Console) -> JsonObject:
        import jax

        from longpass import _checks, envs
        from longpass.agents import play_policy
        from longpass.envs import film

        _checks.real("fps", self.fps, least=_LEAST_FPS)
        _checks.seed("seed", self.seed)
        env, params, network = environment_of(self.world), self.world, None
        if self.policy not in ("scripted", "random"):
            params, network = self._load_policy(env)
        beside = None
        with console.status("playing") as status:
            if network is None:
                hidden = env.draw(jax.random.key(self.seed), params)
                if self.policy == "scripted":
                    actions = env.perfect_actions(params, hidden)
                else:
                    actions = envs.random_actions(env, self.seed, film.MOST_STEPS)
                episode = film.cut_after_end(envs.play_episode(env, params, hidden, actions))
            else:
                played = play_policy(env, params, network, self.seed)
                episode, beside = played.episode, played.memory
            status.update(f"drawing {len(episode)} frames")
            film.write_film(self.out, env, params, episode, self.fps, beside)
        score = float(episode.rewards.sum())
        console.print(
            f"wrote {self.out}: {len(episode) - 1} steps, score {score:.3f}",
            highlight=False,
            soft_wrap=True,
        )
        return {
            "command": "film",
            "task": env.name,
            "policy": self.policy,
            "file": str(self.out),
            "steps": len(episode) - 1,
            "score": score,
        }

    def _load_policy(self, env: "AnyEnvironment") -> "tuple[Params, ActorCritic]":
        """(Parameters of the world, network) of the run that is the policy."""
        from longpass.agents import load_policy

        run, network, _ = load_policy(self.policy, "policy")
        if run.env != env.name:
            raise ValueError(
                f"policy is {self.policy!r}, trained on {run.env}: it must be a run on {env.name}"
            )
        return dataclasses.replace(run.params, **changed_params(self.world)), network
