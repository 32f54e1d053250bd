"""Cued Catch: learn four cues, then catch the ball that each one names, trial after trial.

Section 5.2.1 and appendix B.1 of the paper.
"""

from typing import ClassVar, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Int8, PRNGKeyArray, UInt8

from longpass.envs._bounds import Whole
from longpass.envs._environment import Action, Environment, IntLike, Recording
from longpass.envs._palette import BLACK, CYAN, GREEN, WHITE, YELLOW
from longpass.envs._params import register_params
from longpass.envs._settings import CuedCatchParams

_CUES = 4
_TRIAL = 7  # frames from one ball's start to the next one's
_FIRST_COLUMN = 8  # where balls start
_PLAYER_COLUMN = 3
_BLANK, _PLAYER, _CUE, _TOP, _BOTTOM = range(5)
# All ways to give two of the four cues to the top ball and two to the bottom one.
_MAPS = np.array([m for m in np.ndindex(2, 2, 2, 2) if sum(m) == 2], np.int8)


_NOTHING, _HIDDEN = 255, 254  # of a stencil, and of what is compared with one: never equal


def _stencils() -> tuple[np.ndarray, ...]:
    """Per cell: its number; 1 in the phase marker; its ball symbol; its cue. Bytes, or _NOTHING."""
    row, col = np.indices((7, 12))
    marker = np.where(((row == 1) | (row == 2)) & ((col <= 1) | (col >= 10)), 1, _NOTHING)
    symbol = np.where((row == 3) | (row == 4), col // 6, _NOTHING)
    cue = np.where(row >= 5, col // 3, _NOTHING)
    return tuple(x.astype(np.uint8) for x in (12 * row + col, marker, symbol, cue))


_STENCILS = _stencils()
register_params(CuedCatchParams)


class CuedCatchHidden(eqx.Module):
    """What the player is not shown.

    >>> cues = CuedCatchHidden(jnp.array([0, 1, 0, 1]), jnp.zeros(101, int))
    >>> cues.cues_to_balls.tolist()
    [0, 1, 0, 1]
    """

    cues_to_balls: Int[Array, "4"]
    """The ball of each cue: 0 top, 1 bottom; two of each."""
    cue_sequence: Int[Array, " cues"]
    """The cue of each trial, 0 to 3. The last is seen on the final frame only."""


class CuedCatchState(eqx.Module):
    """Everything else follows from the frame number."""

    frame: Int[Array, ""]
    row: Int8[Array, ""]
    """The player's row: 1 or 2."""
    hidden: CuedCatchHidden


@final
class CuedCatch(Environment[CuedCatchParams, CuedCatchState, CuedCatchHidden]):
    """Board 7 x 12. An episode has two parts.

    - Teaching: each of four cues (bottom rows) is shown with the symbol of its ball. Two blocks
      beside the player mark this part.
    - Trials: two balls come in from the right, one per row, and a cue says which to catch. The
      player, in column 3, moves up and down between the two rows (left and right mean stay).
      Being in the right row on the frame after the balls were in column 3 pays 1; the first
      `reward_free_trials` trials pay nothing.

    Planes: blank, player P, cue blocks Q, balls a (top) and b (bottom). An episode always has
    4 initial_cue_duration - 1 + 7 num_trials steps.

    >>> env = CuedCatch()
    >>> round(float(env.max_score(env.default_params)), 4)
    60.0
    """

    name = "cued-catch"
    title = "Cued Catch"
    rows, cols, planes = 7, 12, " PQab"
    colours: ClassVar = {" ": BLACK, "P": WHITE, "Q": GREEN, "a": YELLOW, "b": CYAN}
    recording = Recording(
        actions={1: Action.UP, 2: Action.DOWN, 3: Action.STAY},
        quits=(0, 4),
        hidden=("cues_to_balls", "cue_sequence"),
        read_hidden=lambda record: CuedCatchHidden(
            jnp.asarray(record["cues_to_balls"]), jnp.asarray(record["cue_sequence"])
        ),
        reason_to_skip=lambda params: (
            "noise on the rewards is not in the record" if params.get("reward_sigma") else ""
        ),
    )

    @property
    def default_params(self) -> CuedCatchParams:
        return CuedCatchParams()

    def draw(self, key: PRNGKeyArray, params: CuedCatchParams) -> CuedCatchHidden:
        count = params.num_trials + 1
        # One call for everything: an auto-reset draws on every step. Two bits are one cue; the
        # remainder of 32 bits by 6 is uneven by less than 1e-9.
        bits = jax.random.bits(key, (1 + -(-count // 16),), jnp.uint32)
        cues = (bits[1:, None] >> jnp.arange(0, 32, 2, dtype=jnp.uint32)) & 3
        return CuedCatchHidden(
            cues_to_balls=jnp.asarray(_MAPS)[bits[0] % len(_MAPS)],
            cue_sequence=cues.reshape(-1)[:count].astype(jnp.int8),
        )

    def check_hidden(self, hidden: CuedCatchHidden, params: CuedCatchParams) -> None:
        shape = np.shape(hidden.cue_sequence)
        if shape != (params.num_trials + 1,):
            raise ValueError(
                f"cue_sequence has shape {shape}: it must be ({params.num_trials + 1},), one cue "
                "per trial (num_trials) and one more for the final frame"
            )
        if np.shape(hidden.cues_to_balls) != (_CUES,):
            raise ValueError(
                f"cues_to_balls has shape {np.shape(hidden.cues_to_balls)}: it must be ({_CUES},)"
            )
        Whole(0, 1).check("cues_to_balls", hidden.cues_to_balls)
        Whole(0, _CUES - 1).check("cue_sequence", hidden.cue_sequence)

    def begin(self, hidden: CuedCatchHidden, params: CuedCatchParams) -> CuedCatchState:
        hidden = jax.tree.map(lambda x: jnp.asarray(x, jnp.int8), hidden)
        return CuedCatchState(jnp.int32(0), jnp.int8(1), hidden)

    def advance(
        self,
        key: PRNGKeyArray,
        state: CuedCatchState,
        action: Int[Array, ""],
        params: CuedCatchParams,
    ) -> tuple[CuedCatchState, Float[Array, ""]]:
        frame = state.frame + 1
        row = jnp.where(action == Action.UP, 1, jnp.where(action == Action.DOWN, 2, state.row))
        trial, age = _trial(frame, params)
        ball = state.hidden.cues_to_balls[_cue_of(state.hidden, trial)]
        # Balls that were in the player's column on the last frame are caught now.
        pays = (trial >= params.reward_free_trials) & (age == _TRIAL - 1) & (trial >= 0)
        reward = jnp.where(row == 1 + ball, 1.0, 0.0)
        if params.reward_sigma > 0:
            reward += params.reward_sigma * jax.random.normal(key)
        return CuedCatchState(frame, row.astype(jnp.int8), state.hidden), reward * pays

    def codes(self, state: CuedCatchState, params: CuedCatchParams) -> UInt8[Array, "7 12"]:
        hidden = state.hidden
        last_taught = _last_taught(params)
        teaching = state.frame <= last_taught
        trial, age = _trial(state.frame, params)
        cue = jnp.where(
            teaching,
            (last_taught - state.frame) // params.initial_cue_duration,
            _cue_of(hidden, trial),
        ).astype(jnp.uint8)
        # The first trial begins unseen, on the last frame of teaching: its cue comes a frame late.
        cue_on = teaching | (age < params.cue_duration + (trial == 0))
        symbol_on = teaching | (cue_on & params.always_show_ball_symbol)
        ball = hidden.cues_to_balls[cue]
        cue_shown = jnp.where(cue_on, cue, jnp.uint8(_HIDDEN))
        symbol_shown = jnp.where(symbol_on, ball.astype(jnp.uint8), jnp.uint8(_HIDDEN))
        marker_shown = teaching.astype(jnp.uint8)
        top = jnp.where(teaching, _HIDDEN, 12 + _FIRST_COLUMN - age).astype(jnp.uint8)
        bottom = jnp.where(teaching, jnp.uint8(_HIDDEN), top + jnp.uint8(12))
        player = (12 * state.row + _PLAYER_COLUMN).astype(jnp.uint8)

        cell, marker, symbol, cue_block = _STENCILS
        codes = jnp.where(cell == player, jnp.uint8(_PLAYER), jnp.uint8(_BLANK))
        codes = jnp.where(cell == top, jnp.uint8(_TOP), codes)
        codes = jnp.where(cell == bottom, jnp.uint8(_BOTTOM), codes)
        block = (marker == marker_shown) | (symbol == symbol_shown) | (cue_block == cue_shown)
        return jnp.where(block, jnp.uint8(_CUE), codes)

    def over(self, state: CuedCatchState, params: CuedCatchParams) -> Bool[Array, ""]:
        return state.frame >= _last_frame(params)

    def timed_out(self, state: CuedCatchState, params: CuedCatchParams) -> Bool[Array, ""]:
        return jnp.asarray(False)

    def phase(self, state: CuedCatchState, params: CuedCatchParams) -> str:
        if self.over(state, params):
            return "over"
        if state.frame <= _last_taught(params):
            return "teaching: which cue names which ball"
        trial = int(_trial(state.frame, params)[0])
        pays = "" if trial >= params.reward_free_trials else ", pays nothing yet"
        return f"trial {trial + 1} of {params.num_trials}{pays}"

    def max_score(
        self, params: CuedCatchParams | None = None, hidden: CuedCatchHidden | None = None
    ) -> float:
        """One for each trial that pays, whatever the draws (and on average, with noise)."""
        params = self.default_params if params is None else params
        return float(max(0, params.num_trials - int(params.reward_free_trials)))

    def perfect_actions(
        self, params: CuedCatchParams, hidden: CuedCatchHidden
    ) -> Int[np.ndarray, " steps"]:
        """Be in the row of the named ball from the trial's first frame on."""
        balls = np.asarray(hidden.cues_to_balls)[np.asarray(hidden.cue_sequence)]
        actions = [Action.STAY] * int(_last_taught(params))
        for ball in balls[: params.num_trials]:
            first = Action.UP if ball == 0 else Action.DOWN
            actions += [first] + [Action.STAY] * (_TRIAL - 1)
        return np.array(actions, np.int32)

    def episode_length(self, params: CuedCatchParams) -> int:
        """The number of frames, which is the same in all episodes."""
        return int(_last_frame(params)) + 1

    def memory_span(self, params: CuedCatchParams) -> int:
        """From the first cue that is taught to the last trial."""
        return self.episode_length(params)


def _last_taught(params: CuedCatchParams) -> IntLike:
    """The last frame of teaching, on which the first trial starts unseen."""
    return _CUES * params.initial_cue_duration - 1


def _last_frame(params: CuedCatchParams) -> IntLike:
    """The frame that ends an episode."""
    return _last_taught(params) + _TRIAL * params.num_trials


def _trial(frame: Int[Array, ""], params: CuedCatchParams) -> tuple[Int[Array, ""], Int[Array, ""]]:
    """(which trial, frames since its start); the trial is negative while teaching."""
    since = frame - _last_taught(params)
    return since // _TRIAL, since % _TRIAL


def _cue_of(hidden: CuedCatchHidden, trial: Int[Array, ""]) -> Int8[Array, ""]:
    return hidden.cue_sequence[jnp.clip(trial, 0, hidden.cue_sequence.shape[0] - 1)]
