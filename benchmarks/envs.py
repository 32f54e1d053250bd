"""Steps per second of every world, observations included, beside pycolab's engine.

Our side is one compiled run: random actions, auto-reset, and every observation written to memory.
pycolab's is its engine on a comparable gridworld (a walker in a maze, a drape that changes, one
update and one render per step), made into the same kind of binary planes, one copy after the other.
"""

import dataclasses
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks._timing import machine
from longpass.envs import Action, AnyEnvironment, AutoReset, make, names

COPIES = (1, 64, 1024, 8192)
_STEPS = {1: 20_000, 64: 4_000, 1024: 1_000, 8192: 120}
_REPEATS = 3


@dataclasses.dataclass(frozen=True)
class Row:
    """One measurement."""

    world: str
    copies: int
    steps_per_second: float
    compile_seconds: float = 0.0
    bytes_per_copy: int = 0
    """The state alone, without the observation."""


def measure(env: AnyEnvironment, copies: int) -> Row:
    """The fastest of a few runs of one environment."""
    auto, params, steps = AutoReset(env), env.default_params, _STEPS[copies]

    def one_step(carry: Any, key: jax.Array) -> tuple[Any, None]:
        state, _, total = carry
        keys = jax.random.split(key, 1 + copies)
        actions = jax.random.randint(keys[0], (copies,), 0, len(Action))
        step = jax.vmap(lambda key, state, action: auto.step(key, state, action, params))
        observation, state, reward, *_ = step(keys[1:], state, actions)
        # The observation is carried, so that it has to be there after every step.
        return (state, observation, total + reward), None

    def run(key: jax.Array, carry: Any) -> Any:
        return jax.lax.scan(one_step, carry, jax.random.split(key, steps))[0]

    keys = jax.random.split(jax.random.key(0), copies)
    observation, state = jax.vmap(lambda key: auto.reset(key, params))(keys)
    carry = (state, observation, jnp.zeros(copies))
    start = time.perf_counter()
    compiled = jax.jit(run).lower(keys[0], carry).compile()
    compile_seconds = time.perf_counter() - start
    seconds = _fastest(lambda: jax.block_until_ready(compiled(keys[0], carry)))
    size = sum(leaf.nbytes for leaf in jax.tree.leaves(state)) // copies
    return Row(env.title, copies, copies * steps / seconds, compile_seconds, size)


def measure_pycolab(copies: int) -> Row | None:
    """pycolab on a board of the T-maze's size; None if it is not installed."""
    try:
        from pycolab import engine, rendering
        from pycolab.prefab_parts import sprites
        from pycolab.things import Backdrop, Drape
    except ImportError:
        return None

    class Walker(sprites.MazeWalker):
        """Goes where the action says."""

        def __init__(self, corner: Any, position: Any, character: str):
            super().__init__(corner, position, character, impassable="#")

        def update(
            self, actions: Any, board: Any, layers: Any, backdrop: Any, things: Any, the_plot: Any
        ) -> None:
            the_plot.add_reward(-0.001)
            moves = [self._north, self._south, self._west, self._east, self._stay]
            moves[4 if actions is None else actions](board, the_plot)

    class Cue(Drape):
        """Blinks."""

        def update(
            self, actions: Any, board: Any, layers: Any, backdrop: Any, things: Any, the_plot: Any
        ) -> None:
            self.curtain[4:, 9:] = the_plot.frame % 20 < 10

    walls = np.full((7, 11), ord(" "), np.uint8)
    walls[[0, -1], :] = walls[:, [0, -1]] = ord("#")

    def new_game() -> Any:
        # Not from ASCII art: pycolab 1.2 reads it in a way that NumPy 2 no longer allows.
        game = engine.Engine(*walls.shape)
        game.set_prefilled_backdrop(" #", walls, Backdrop)
        game.add_sprite("P", (3, 5), Walker)
        game.add_prefilled_drape("Q", np.zeros(walls.shape, bool), Cue)
        game.its_showtime()
        return game

    planes = rendering.ObservationToFeatureArray([" ", "#", "P", "Q"], permute=(1, 2, 0))
    games = [new_game() for _ in range(copies)]
    steps = max(1, 3000 // copies)
    actions = np.random.default_rng(0).integers(0, 5, (steps, copies))

    def run() -> None:
        for row in actions:
            for game, action in zip(games, row, strict=True):
                planes(game.play(int(action))[0])

    return Row("pycolab's engine", copies, copies * steps / _fastest(run))


def _fastest(run: Any) -> float:
    """Seconds of the fastest of a few runs, after one that does not count."""
    run()
    times = []
    for _ in range(_REPEATS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def rows(copies: tuple[int, ...] = COPIES) -> list[Row]:
    """Every measurement."""
    ours = [measure(make(name)[0], count) for name in names() for count in copies]
    theirs = [measure_pycolab(count) for count in copies]
    return ours + [row for row in theirs if row is not None]


def main(console: Console) -> dict[str, Any]:
    """Measure, print a table and say which targets are not met."""
    measured = rows()
    table = Table("world", "copies", "steps per second", "compile, s", "bytes per copy")
    table.title = "environments, with observations"
    for column in table.columns[1:]:
        column.justify = "right"
    for row in measured:
        table.add_row(
            row.world,
            f"{row.copies:,}",
            f"{row.steps_per_second:,.0f}",
            f"{row.compile_seconds:.1f}" if row.compile_seconds else "",
            f"{row.bytes_per_copy:,}" if row.bytes_per_copy else "",
        )
    console.print(table)
    unmet = missed(measured)
    for line in unmet or ["every target is met"]:
        console.print(line, highlight=False)
    console.print(machine())
    return {
        "rows": [dataclasses.asdict(row) for row in measured],
        "unmet": unmet,
        "machine": machine(),
    }


def missed(measured: list[Row]) -> list[str]:
    """The targets that these rows do not meet: a million steps per second with 1,024 copies, a
    compile under 10 seconds, a state under 2 kB."""
    out = []
    for row in measured:
        if row.copies == 1024 and row.compile_seconds and row.steps_per_second < 1e6:
            out.append(f"not met: {row.world} makes {row.steps_per_second:,.0f} steps per second")
        if row.compile_seconds >= 10:
            out.append(f"not met: {row.world} compiles in {row.compile_seconds:.1f} s")
        if row.bytes_per_copy >= 2000:
            out.append(f"not met: a copy of {row.world} takes {row.bytes_per_copy:,} bytes")
    return out
