"""Sequence Recall: watch a sequence of lights, then walk over them in the same order.

Section 5.2.3 and appendix B.3 of the paper.
"""

from typing import ClassVar, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Int8, PRNGKeyArray, UInt8

from longpass.envs import _recall_paths
from longpass.envs._bounds import Whole
from longpass.envs._environment import NO_LIMIT, Action, Environment, IntLike, Recording
from longpass.envs._palette import BLACK, BLUE, CYAN, GREEN, GREY, RED, STONE, YELLOW
from longpass.envs._params import register_params
from longpass.envs._recall_paths import COLS, LIGHT, LIGHTS, ROWS, START, STEP_COST
from longpass.envs._settings import SequenceRecallParams

_BLANK, _WALL, _MASK, _PLAYER = 0, 1, 6, 7  # light k shows as plane 1 + k
_SHORTEST = 2  # frames: demo stages set to less last this long
_NOTHING = 255


def _stencils() -> tuple[np.ndarray, ...]:
    """Per cell: its column; its light; its plane while all is dark; 1 in the pen. As bytes."""
    row, col = np.indices((ROWS, COLS))
    border = (row == 0) | (row == ROWS - 1) | (col == 0) | (col == COLS - 1)
    look = np.where(LIGHT > 0, _MASK, np.where(border, _WALL, _BLANK))
    around = np.maximum(abs(row - START[0]), abs(col - START[1])) == 1
    light = np.where(LIGHT > 0, LIGHT.astype(np.uint8), _NOTHING)
    pen = np.where(around, 1, _NOTHING)
    return tuple(x.astype(np.uint8) for x in (col, light, look, pen))


_STENCILS = _stencils()
register_params(SequenceRecallParams)


class SequenceRecallHidden(eqx.Module):
    """What the player is shown once.

    >>> SequenceRecallHidden(jnp.array([1, 3, 3, 2])).sequence.tolist()
    [1, 3, 3, 2]
    """

    sequence: Int[Array, " length"]
    """The lights, 1 (left), 2 (top), 3 (right) or 4 (bottom); repeats are allowed."""


class SequenceRecallState(eqx.Module):
    """Where the player is and how many lights are done."""

    frame: Int[Array, ""]
    limit: Int[Array, ""]
    """The frame on which the episode ends."""
    row: Int8[Array, ""]
    col: Int8[Array, ""]
    slot: Int[Array, ""]
    """How many lights the player has entered, right or wrong."""
    lit: Int8[Array, ""]
    """The light that the player has put on; 0: none."""
    hidden: SequenceRecallHidden


@final
class SequenceRecall(Environment[SequenceRecallParams, SequenceRecallState, SequenceRecallHidden]):
    """Board 17 x 21, four lights around the player. An episode has two parts.

    - Demonstration: the player is held in a pen while the lights of the sequence go on, one after
      the other.
    - Recall: the player walks freely. The n-th light that he enters pays 1 if it is the n-th of
      the sequence; it stays on until he leaves it. A wrong light uses up its turn. After
      as many lights as the sequence has, the episode ends three frames later.

    Every frame from the second on costs 0.005, but the last. Running out of time ends the
    episode too, with discount 0 as in the original (see
    `SequenceRecallParams.truncate_at_timeout`).

    Planes: blank, wall and pen #, lights that are on 1 to 4, lights that are off M, player P.

    >>> env = SequenceRecall()
    >>> round(float(env.max_score(env.default_params)), 4)
    2.1105
    """

    name = "sequence-recall"
    title = "Sequence Recall"
    rows, cols, planes = ROWS, COLS, " #1234MP"
    colours: ClassVar = dict(
        zip(planes, (BLACK, STONE, GREEN, RED, BLUE, YELLOW, GREY, CYAN), strict=True)
    )
    recording = Recording(
        actions=dict(enumerate(Action, 1)),
        quits=(0, 6),
        hidden=("sequence",),
        read_hidden=lambda record: SequenceRecallHidden(jnp.asarray(record["sequence"])),
    )

    @property
    def default_params(self) -> SequenceRecallParams:
        return SequenceRecallParams()

    def draw(self, key: PRNGKeyArray, params: SequenceRecallParams) -> SequenceRecallHidden:
        bits = jax.random.bits(key, (params.sequence_length,), jnp.uint8)
        return SequenceRecallHidden((bits % LIGHTS + 1).astype(jnp.int8))

    def check_hidden(self, hidden: SequenceRecallHidden, params: SequenceRecallParams) -> None:
        if np.shape(hidden.sequence) != (params.sequence_length,):
            raise ValueError(
                f"sequence has shape {np.shape(hidden.sequence)}: it must be "
                f"({params.sequence_length},), one light for each of sequence_length"
            )
        Whole(1, LIGHTS).check("sequence", hidden.sequence)

    def begin(
        self, hidden: SequenceRecallHidden, params: SequenceRecallParams
    ) -> SequenceRecallState:
        timeout = jnp.asarray(params.timeout_frames, jnp.int32)
        return SequenceRecallState(
            frame=jnp.int32(0),
            limit=jnp.where(timeout < 0, NO_LIMIT, timeout),
            row=jnp.int8(START[0]),
            col=jnp.int8(START[1]),
            slot=jnp.int32(0),
            lit=jnp.int8(0),
            hidden=SequenceRecallHidden(jnp.asarray(hidden.sequence, jnp.int8)),
        )

    def advance(
        self,
        key: PRNGKeyArray,
        state: SequenceRecallState,
        action: Int[Array, ""],
        params: SequenceRecallParams,
    ) -> tuple[SequenceRecallState, Float[Array, ""]]:
        frame = state.frame + 1
        ends = frame >= state.limit
        count = params.sequence_length
        # Both the player and the lights rest during the demonstration and after the last light.
        playing = (frame >= first_free_frame(params)) & (state.slot < count)

        down = (action == Action.DOWN).astype(jnp.int8) - (action == Action.UP)
        right = (action == Action.RIGHT).astype(jnp.int8) - (action == Action.LEFT)
        row = jnp.where(playing, jnp.clip(state.row + down, 1, ROWS - 2), state.row)
        col = jnp.where(playing, jnp.clip(state.col + right, 1, COLS - 2), state.col)

        on = jnp.asarray(LIGHT)[row.astype(jnp.int32), col.astype(jnp.int32)]
        enters = playing & (state.lit == 0) & (on > 0)
        leaves = playing & (state.lit > 0) & (on == 0)
        due = state.hidden.sequence[jnp.minimum(state.slot, count - 1)]
        bonus = jnp.where(enters & (on == due), 1.0, 0.0)
        cost = jnp.where(ends | (frame <= 1), 0.0, -STEP_COST)

        slot = state.slot + enters
        # The last light sets the clock, unless time runs out on this frame or the next.
        closes = enters & (slot == count) & (state.limit > frame + 1)
        return SequenceRecallState(
            frame=frame,
            limit=jnp.where(closes, frame + 3, state.limit),
            row=row.astype(jnp.int8),
            col=col.astype(jnp.int8),
            slot=slot,
            lit=jnp.where(enters, on, jnp.where(leaves, jnp.int8(0), state.lit)),
            hidden=state.hidden,
        ), cost + bonus

    def codes(
        self, state: SequenceRecallState, params: SequenceRecallParams
    ) -> UInt8[Array, "17 21"]:
        dark, lit, _ = stages(params)
        demo = state.frame < first_free_frame(params)
        turn, place = state.frame // (dark + lit), state.frame % (dark + lit)
        shown = state.hidden.sequence[jnp.minimum(turn, params.sequence_length - 1)]
        shown = jnp.where((place >= dark) & (turn < params.sequence_length), shown, jnp.int8(0))
        shown = jnp.where(demo, shown, state.lit).astype(jnp.uint8)
        # The player's column, in his own row; elsewhere one that there is not.
        column = state.col.astype(jnp.uint8)
        player = jnp.where(np.arange(ROWS) == state.row, column, jnp.uint8(_NOTHING))

        col, light, dark_look, pen = _STENCILS
        codes = jnp.where(light == shown, shown + jnp.uint8(1), dark_look)
        codes = jnp.where(col == player[:, None], jnp.uint8(_PLAYER), codes)
        return jnp.where(pen == demo.astype(jnp.uint8), jnp.uint8(_WALL), codes)

    def over(self, state: SequenceRecallState, params: SequenceRecallParams) -> Bool[Array, ""]:
        return state.frame >= state.limit

    def timed_out(
        self, state: SequenceRecallState, params: SequenceRecallParams
    ) -> Bool[Array, ""]:
        return self.over(state, params) & (state.slot < params.sequence_length)

    def phase(self, state: SequenceRecallState, params: SequenceRecallParams) -> str:
        if self.over(state, params):
            return "over: out of time" if self.timed_out(state, params) else "over"
        if state.frame < first_free_frame(params):
            return "demonstration: watch the lights"
        if state.slot == params.sequence_length:
            return "all lights entered"
        return f"recall: light {int(state.slot) + 1} of {params.sequence_length}"

    def max_score(
        self,
        params: SequenceRecallParams | None = None,
        hidden: SequenceRecallHidden | None = None,
    ) -> float:
        """One per light less 0.005 per frame of the shortest walk, if there is time for it.

        If the time limit is too short for some sequence, the mean over draws is taken over all
        4^sequence_length of them, which is slow from 7 lights on.
        """
        params = self.default_params if params is None else params
        if hidden is None:
            return _recall_paths.mean_best_score(params.sequence_length, _clock(params))
        return _best_walk(params, hidden).score

    def perfect_actions(
        self, params: SequenceRecallParams, hidden: SequenceRecallHidden
    ) -> Int[np.ndarray, " steps"]:
        """Wait for the demonstration to end, and take the shortest walk."""
        walk = _best_walk(params, hidden)
        actions = [Action.STAY] * (_clock(params).first_free - 1)
        actions += [Action(action) for action in walk.actions]
        return np.array((actions + [Action.STAY] * max(3, walk.end))[: walk.end], np.int32)

    def episode_length(self, params: SequenceRecallParams) -> int:
        """The demonstration, and 60 steps of recall."""
        return _demo_length(params) + 60

    def memory_span(self, params: SequenceRecallParams) -> int:
        """From the first light of the demonstration to the beginning of recall."""
        return _demo_length(params) + int(params.pause_frames)


def _demo_length(params: SequenceRecallParams) -> int:
    """Frames that the parameters give to the lights of the demonstration."""
    shown = int(params.demo_light_on_frames) + int(params.demo_light_off_frames)
    return params.sequence_length * shown


def _clock(params: SequenceRecallParams) -> _recall_paths.Clock:
    return _recall_paths.Clock(int(first_free_frame(params)), int(params.timeout_frames))


def _best_walk(params: SequenceRecallParams, hidden: SequenceRecallHidden) -> _recall_paths.Walk:
    return _recall_paths.best_walk(tuple(np.asarray(hidden.sequence).tolist()), _clock(params))


def stages(params: SequenceRecallParams) -> tuple[IntLike, IntLike, IntLike]:
    """Frames that are really spent: (dark before a light, light on, pause)."""
    settings = (params.demo_light_off_frames, params.demo_light_on_frames, params.pause_frames)
    if all(isinstance(frames, int) for frames in settings):
        dark, lit, pause = (max(_SHORTEST, frames) for frames in settings)
    else:
        dark, lit, pause = (jnp.maximum(_SHORTEST, frames) for frames in settings)
    return dark, lit, pause


def first_free_frame(params: SequenceRecallParams) -> IntLike:
    """The first frame whose action moves the player."""
    dark, lit, pause = stages(params)
    return params.sequence_length * (dark + lit) + pause
