"""`longpass film TASK`."""

import dataclasses
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from rich.console import Console

from longpass.cli._tasks import Task, environment


@dataclasses.dataclass
class Film:
    """Write an episode as an animated GIF.

    The random player takes each action with equal chance; the scripted one knows the hidden draws
    and plays perfectly.
    """

    task: Task
    """What is played. Every parameter can be set: longpass film t-maze --limbo-time 20."""
    policy: Literal["random", "scripted"] = "scripted"
    """Who plays."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("film.gif")
    """The file to write."""
    fps: float = 20.0
    """Frames a second."""
    seed: int = 0
    """Seed of the hidden draws and of random actions."""
    json: bool = False
    """Print one JSON object on standard output, and nothing else there."""

    def run(self, console: Console) -> dict[str, Any]:
        import jax

        from longpass import _checks, envs
        from longpass.envs import film

        _checks.real("fps", self.fps, above=0.0)
        env, params = environment(self.task)
        hidden = env.draw(jax.random.key(self.seed), params)
        if self.policy == "scripted":
            actions = envs.perfect_actions(env, params, hidden)
        else:
            actions = envs.random_actions(env, self.seed, film.MOST_STEPS)
        episode = film.until_the_end(envs.play(env, params, hidden, actions))
        film.write(self.out, env, params, episode, self.fps)
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
