"""`longpass play WORLD`."""

import dataclasses
import time
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from longpass._json import JsonObject
from longpass.cli._terminal import Keys, keys
from longpass.cli._worlds import WorldParams, environment_of

if TYPE_CHECKING:
    import numpy as np

    from longpass.envs import AnyEnvironment, Params

_LEAST_FPS = 0.01
_HELP = "arrows move · space stays · n starts a new episode · q quits"


@dataclasses.dataclass
class Play:
    """Play a world yourself, in the terminal, with the arrow keys.

    Frames follow each other by themselves; a key counts for the next frame. With --fps 0 the game
    waits for a key each time. Every parameter of a world can be set: longpass play t-maze
    --limbo-time 5 --level 0.
    """

    world: WorldParams
    """What to play."""
    fps: float = 8.0
    """Frames per second; 0: wait for a key."""
    seed: int = 0
    """Seed of the hidden draws of the first episode; each later one adds 1."""
    json: bool = False
    """Print one JSON object on standard output, and nothing else there; the game is then drawn
    on standard error."""

    def run(self, console: Console) -> JsonObject:
        from longpass import _checks

        if self.fps != 0:
            _checks.real("fps", self.fps, least=_LEAST_FPS)
        _checks.seed("seed", self.seed)
        if not console.is_terminal:
            raise ValueError("play draws on a terminal: its output must not go to a file or pipe")
        env = environment_of(self.world)
        game = _Game(env, self.world, self.seed)
        finished = []
        with keys() as pressed, Live(console=console, screen=True, auto_refresh=False) as live:
            quitting = False
            while not quitting:
                live.update(game.render(), refresh=True)
                key = self._next_key(pressed, game.over)
                quitting = key == "quit"
                if key == "n":
                    finished += [(game.score, game.best)] if game.over else []
                    game.restart()
                elif not quitting and not game.over:
                    game.step(key)
        finished += [(game.score, game.best)] if game.over else []
        for score, best in finished:
            console.print(f"{env.title}: {score:.3f} of {best:.3f} at best", highlight=False)
        return {"command": "play", "task": env.name, "scores": [score for score, _ in finished]}

    def _next_key(self, pressed: Keys, over: bool) -> str | None:
        """The last key of this frame's time; None if there was none."""
        if self.fps == 0 or over:
            return pressed.read(None)
        until, key = time.monotonic() + 1 / self.fps, None
        while (left := until - time.monotonic()) > 0:
            key = pressed.read(left) or key
            if key in ("quit", "n"):
                break
        return key


class _Game:
    """One episode after the other, and how they look."""

    def __init__(self, env: "AnyEnvironment", params: "Params", seed: int):
        self._env, self._params, self._seed = env, params, seed
        self._begin()
        # Compile before the first frame is shown, not while someone waits for it.
        env.step(self._key, self._state, 4, params)

    def _begin(self) -> None:
        import jax

        self._key = jax.random.key(self._seed)
        _, self._state = self._env.reset(self._key, self._params)
        self.frame, self.score = 0, 0.0
        self.over = bool(self._env.over(self._state, self._params))

    @property
    def best(self) -> float:
        """What a perfect player earns in this episode."""
        return self._env.max_score(self._params, self._state.hidden)

    def restart(self) -> None:
        self._seed += 1
        self._begin()

    def step(self, key: str | None) -> None:
        import jax

        from longpass.envs import Action

        action = Action.__members__.get((key or "").upper(), Action.STAY)
        self.frame += 1
        key_now = jax.random.fold_in(self._key, self.frame)
        _, self._state, reward, terminated, truncated, _ = self._env.step(
            key_now, self._state, action, self._params
        )
        self.score += float(reward)
        self.over = bool(terminated | truncated)

    def render(self) -> Group:
        import numpy as np

        board = np.asarray(self._env.board(self._state, self._params))
        return Group(
            Text(f" {self._env.title}", style="bold"),
            Text(f" {self._env.phase(self._state, self._params)}"),
            _draw_blocks(self._env, board),
            Text(f" frame {self.frame}   score {self.score:+.3f}", style="bold"),
            Text(f" {_HELP}", style="dim"),
        )


def _draw_blocks(env: "AnyEnvironment", board: "np.ndarray") -> Text:
    """A board as coloured blocks, two columns wide so that they are square.

    Blocks carry their character, so that a terminal without colours shows the board too.
    """
    text = Text()
    for row in board:
        text.append(" ")
        for code in row:
            character = chr(code)
            red, green, blue = env.colours[character]
            ink = "black" if red + green + blue > 300 else "white"
            text.append(character * 2, style=f"{ink} on rgb({red},{green},{blue})")
        text.append("\n")
    text.right_crop(1)
    return text
