"""A world outside the package, in one file: a corridor whose exit is named at its start."""

from typing import Annotated, ClassVar, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt8

from longpass import envs
from longpass.envs import Action, Environment, Flag, IntOrArray, Whole


@envs.world_params
class CorridorParams:
    """Remember the exit that is named at the start of a corridor."""

    length: Annotated[IntOrArray, Whole(1, 100)] = 6
    """Steps from the start to the exits."""
    truncate_at_timeout: Annotated[bool, Flag()] = False
    """There is no time limit."""


envs.register_params(CorridorParams)


class CorridorState(eqx.Module):
    frame: Int[Array, ""]
    hidden: Int[Array, ""]


@final
class Corridor(Environment[CorridorParams, CorridorState, Int[Array, ""]]):
    """Board 3 x 1. The first frame shows the exit; the last action takes one of the two."""

    name = "corridor"
    title = "Corridor"
    rows, cols, planes = 3, 1, " Px"
    colours: ClassVar = {" ": (0, 0, 0), "P": (40, 210, 220), "x": (240, 210, 40)}

    @property
    def default_params(self) -> CorridorParams:
        return CorridorParams()

    def draw(self, key: PRNGKeyArray, params: CorridorParams) -> Int[Array, ""]:
        return jax.random.randint(key, (), 0, 2, jnp.int32)

    def check_hidden(self, hidden: Int[Array, ""], params: CorridorParams) -> None:
        Whole(0, 1).check("exit", hidden)

    def begin(self, hidden: Int[Array, ""], params: CorridorParams) -> CorridorState:
        return CorridorState(jnp.int32(0), jnp.asarray(hidden, jnp.int32))

    def advance(
        self,
        key: PRNGKeyArray,
        state: CorridorState,
        action: Int[Array, ""],
        params: CorridorParams,
    ) -> tuple[CorridorState, Float[Array, ""]]:
        frame = state.frame + 1
        right = (frame == params.length) & (action == state.hidden)
        return CorridorState(frame, state.hidden), jnp.where(right, 1.0, 0.0)

    def codes(self, state: CorridorState, params: CorridorParams) -> UInt8[Array, "3 1"]:
        row = np.arange(3)
        named = (state.frame == 0) & (row == 2 * state.hidden)
        return jnp.where(row == 1, 1, jnp.where(named, 2, 0)).astype(jnp.uint8)[:, None]

    def over(self, state: CorridorState, params: CorridorParams) -> Bool[Array, ""]:
        return state.frame >= params.length

    def timed_out(self, state: CorridorState, params: CorridorParams) -> Bool[Array, ""]:
        return jnp.asarray(False)

    def phase(self, state: CorridorState, params: CorridorParams) -> str:
        return "over" if self.over(state, params) else "corridor"

    def max_score(
        self, params: CorridorParams | None = None, hidden: Int[Array, ""] | None = None
    ) -> float:
        return 1.0

    def perfect_actions(
        self, params: CorridorParams, hidden: Int[Array, ""]
    ) -> Int[np.ndarray, " steps"]:
        last = Action.UP if int(hidden) == 0 else Action.DOWN
        return np.array([Action.STAY] * (int(params.length) - 1) + [last], np.int32)

    def episode_length(self, params: CorridorParams) -> int:
        return int(params.length)

    def memory_span(self, params: CorridorParams) -> int:
        return int(params.length)
