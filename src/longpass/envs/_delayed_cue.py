"""Delayed Cue: one cue, a delay in which nothing happens, one question.

Not of the paper: bsuite's MemoryChain (`memory_len`, Osband et al., 2020) as a gridworld. Its delay
is the only difficulty, so it tells how far back an agent can learn to remember.
"""

from typing import ClassVar, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt8

from longpass.envs._bounds import Whole
from longpass.envs._environment import Action, Environment
from longpass.envs._palette import BLACK, CYAN, WHITE, YELLOW
from longpass.envs._params import register_params
from longpass.envs._settings import DelayedCueParams

_BLANK, _PLAYER, _CUE, _QUESTION = range(4)
_PLAYER_ROW = 2

register_params(DelayedCueParams)


class DelayedCueState(eqx.Module):
    """Everything else follows from the frame number."""

    frame: Int[Array, ""]
    hidden: Int[Array, ""]
    """Where the cue is: 0 up, 1 down."""


@final
class DelayedCue(Environment[DelayedCueParams, DelayedCueState, Int[Array, ""]]):
    """Board 5 x 3. An episode has `delay` + 1 steps.

    Frame 0 shows a cue above or below the player. Frame `delay` asks for it, by marks on both
    sides of the player: going up or down, as the cue was, pays 1, and any other action pays -1.
    Between the two all frames are alike, and actions have no effect.

    Planes: blank, player P, cue c, question q.

    >>> env = DelayedCue()
    >>> env.episode_length(env.default_params), env.max_score()
    (61, 1.0)
    """

    name = "delayed-cue"
    title = "Delayed Cue"
    rows, cols, planes = 5, 3, " Pcq"
    colours: ClassVar = {" ": BLACK, "P": WHITE, "c": YELLOW, "q": CYAN}

    @property
    def default_params(self) -> DelayedCueParams:
        return DelayedCueParams()

    def draw(self, key: PRNGKeyArray, params: DelayedCueParams) -> Int[Array, ""]:
        return jax.random.randint(key, (), 0, 2, jnp.int32)

    def check_hidden(self, hidden: Int[Array, ""], params: DelayedCueParams) -> None:
        Whole(0, 1).check("cue", hidden)

    def begin(self, hidden: Int[Array, ""], params: DelayedCueParams) -> DelayedCueState:
        return DelayedCueState(jnp.int32(0), jnp.asarray(hidden, jnp.int32))

    def advance(
        self,
        key: PRNGKeyArray,
        state: DelayedCueState,
        action: Int[Array, ""],
        params: DelayedCueParams,
    ) -> tuple[DelayedCueState, Float[Array, ""]]:
        # Action.UP is 0 and Action.DOWN is 1, as the cue.
        answer = jnp.where(action == state.hidden, 1.0, -1.0)
        reward = jnp.where(state.frame == params.delay, answer, 0.0)
        return DelayedCueState(state.frame + 1, state.hidden), reward

    def codes(self, state: DelayedCueState, params: DelayedCueParams) -> UInt8[Array, "5 3"]:
        row, col = np.indices((self.rows, self.cols))
        middle = col == 1
        player = middle & (row == _PLAYER_ROW)
        cue = (state.frame == 0) & middle & (row == 4 * state.hidden)
        question = (state.frame == params.delay) & ~middle & (row == _PLAYER_ROW)
        shown = jnp.where(cue, _CUE, jnp.where(question, _QUESTION, _BLANK))
        return jnp.where(player, _PLAYER, shown).astype(jnp.uint8)

    def over(self, state: DelayedCueState, params: DelayedCueParams) -> Bool[Array, ""]:
        return state.frame > params.delay

    def timed_out(self, state: DelayedCueState, params: DelayedCueParams) -> Bool[Array, ""]:
        return jnp.asarray(False)

    def phase(self, state: DelayedCueState, params: DelayedCueParams) -> str:
        if self.over(state, params):
            return "over"
        frame = int(state.frame)
        return "cue" if frame == 0 else "question" if frame == int(params.delay) else "delay"

    def max_score(
        self, params: DelayedCueParams | None = None, hidden: Int[Array, ""] | None = None
    ) -> float:
        return 1.0

    def perfect_actions(
        self, params: DelayedCueParams, hidden: Int[Array, ""]
    ) -> Int[np.ndarray, " steps"]:
        answer = Action.UP if int(hidden) == 0 else Action.DOWN
        return np.array([Action.STAY] * int(params.delay) + [answer], np.int32)

    def episode_length(self, params: DelayedCueParams) -> int:
        return int(params.delay) + 1

    def memory_span(self, params: DelayedCueParams) -> int:
        return int(params.delay) + 1
