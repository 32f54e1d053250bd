"""`longpass film TASK`."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from rich.console import Console

from longpass.cli._tasks import Task, environment

if TYPE_CHECKING:
    import numpy as np


@dataclasses.dataclass
class Film:
    """Write an episode as an animated GIF.

    The random player takes each action with equal chance; the scripted one knows the hidden draws
    and plays perfectly. A trained agent plays as it was trained, with its memory beside the board:
    one tile a pool, fastest first, each on its own scale.
    """

    task: Task
    """What is played. Every parameter can be set: longpass film t-maze --limbo-time 20."""
    policy: str = "scripted"
    """Who plays: random, scripted, or the folder of a run (longpass train --out)."""
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
        beside = None
        if self.policy == "scripted":
            actions = envs.perfect_actions(env, params, hidden)
        elif self.policy == "random":
            actions = envs.random_actions(env, self.seed, film.MOST_STEPS)
        else:
            actions, beside = self._watched(env, params, hidden)
        episode = film.until_the_end(envs.play(env, params, hidden, actions))
        film.write(self.out, env, params, episode, self.fps, beside)
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

    def _watched(self, env: Any, params: Any, hidden: Any) -> "tuple[np.ndarray, list[np.ndarray]]":
        """(Actions, tiles of the memory) of a trained agent's episode."""
        import jax
        import numpy as np

        from longpass.agents import load_network, watch
        from longpass.envs import film

        config, network, _ = load_network(Path(self.policy))
        if config.task != env.name:
            raise ValueError(
                f"policy is {self.policy!r}, trained on {config.task}: "
                f"it must be a run on {env.name}"
            )
        key = jax.random.key(self.seed)
        seen = watch(env, params, hidden, network, key, film.MOST_STEPS)
        seen = jax.tree.map(np.asarray, seen)
        # A chain's state is one array of all pools; an LSTM's is its hidden state and its cells.
        leaves = jax.tree.leaves(seen.memory)
        parts = list(np.moveaxis(leaves[0], 1, 0)) if leaves[0].ndim == 3 else leaves
        # The agent does not read the frame on which an episode ends.
        return seen.actions, [np.concatenate([part, part[-1:]]) for part in parts]
