"""T-maze: remember a cue through a long limbo, then choose the arm of the maze that it named.

Section 5.2.2 and appendix B.2 of the paper.
"""

from collections.abc import Mapping
from typing import ClassVar, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt8

from longpass.envs import _t_maze_world as world
from longpass.envs._bounds import Whole
from longpass.envs._environment import NO_LIMIT, Action, Environment, IntLike, Recording
from longpass.envs._palette import BLACK, BLUE, CYAN, GREEN, STONE
from longpass.envs._params import register_params
from longpass.envs._settings import TMazeParams
from longpass.envs._speckle import AbstractSpeckle, GivenSpeckle, HashedSpeckle

_BLANK, _WALL, _PLAYER, _CUE, _MARK = range(5)
_STEP_COST = 0.001
_PLAYER_ROW, _PLAYER_COL = 3, 5  # on the view; the row never changes
_FIRST_CAMERA = (3, 89)
_LAST_CAMERA_COL = world.COLS - world.VIEW_COLS
_ROW_MOVES = np.array([-1, 1, 0, 0, 0], np.int32)  # by action
_COL_MOVES = np.array([0, 0, -1, 1, 0], np.int32)
# The cue at the left and at the right edge of the view, as bits of a row's word.
_CUE_WORDS = np.array([sum(1 << 2 * col for col in cols) for cols in ((0, 1), (9, 10))], np.uint32)
register_params(TMazeParams)


class TMazeHidden(eqx.Module):
    """What the player is not shown, or is shown only at first.

    >>> from longpass.envs import HashedSpeckle
    >>> speckle = HashedSpeckle(jnp.zeros(2, jnp.uint32))
    >>> left = TMazeHidden(which_goal=jnp.array(0), speckle=speckle)
    >>> observation, state = TMaze().reset(jax.random.key(0), hidden=left)
    >>> int(state.hidden.which_goal)
    0
    """

    which_goal: Int[Array, ""]
    """The goal that pays: 0 left, 1 right."""
    speckle: AbstractSpeckle
    """Which dirt is drawn around the maze."""


class TMazeState(eqx.Module):
    """Where the camera and the player are, and what is still to come.

    The player walks by moving the camera; teleporting shifts the scenery under both. A cell of
    the view lies in the world at camera + shift + its place in the view.
    """

    frame: Int[Array, ""]
    limit: Int[Array, ""]
    """The frame on which the episode ends."""
    camera: Int[Array, "2"]
    shift: Int[Array, "2"]
    player_col: Int[Array, ""]
    """The player's column on the view: the middle, or beside it where the camera cannot follow."""
    permits: Int[Array, ""]
    """Bit a says whether action a may move the player on the next frame."""
    teleported: Int[Array, ""]
    """The frame on which the player was on the open teleporter; -1 before."""
    paid: Bool[Array, ""]
    """Whether a goal has been reached and has paid."""
    hidden: TMazeHidden


def _read_hidden(record: Mapping[str, np.ndarray]) -> TMazeHidden:
    """The hidden draws of a recorded episode."""
    bits = np.unpackbits(record["speckle_packed"])
    shape = tuple(record["speckle_shape"].tolist())
    if shape != world.WORLD.shape or bits.size < world.WORLD.size:
        raise ValueError(
            f"speckle has shape {shape} in {bits.size} bits: it must be {world.WORLD.shape}"
        )
    mask = bits[: world.WORLD.size].reshape(world.WORLD.shape)
    return TMazeHidden(jnp.asarray(record["which_goal"]), GivenSpeckle.of(mask))


def _reason_to_skip(params: Mapping[str, object]) -> str:
    if params.get("limbo_time") in (1, 2):
        return f"quirk: limbo_time {params['limbo_time']}, which the original gets wrong"
    return ""


@final
class TMaze(Environment[TMazeParams, TMazeState, TMazeHidden]):
    """View 7 x 11 of a larger world, the player in the middle. An episode has three parts.

    - Chamber: a cue at the left or right edge of the view names a goal. After `teleport_delay` a
      teleporter opens in the top row; stepping on it takes the player away, and the cue goes.
    - Limbo: `limbo_time` frames in which the player cannot move.
    - Maze: a corridor that ends in two legs with a goal at the foot of each. The goal that the
      cue named pays 1, the other -1, and the episode ends two frames after it was reached.

    Every frame from the second on costs 0.001, but the last. Running out of time ends the
    episode too, with discount 0 as in the original (see `TMazeParams.truncate_at_timeout`).

    Planes: blank, wall and dirt #, player P, cue Q, goals and teleporter ~.

    >>> env = TMaze()
    >>> round(float(env.max_score(env.default_params)), 4)
    0.612
    """

    name = "t-maze"
    title = "T-maze"
    rows, cols, planes = world.VIEW_ROWS, world.VIEW_COLS, " #PQ~"
    colours: ClassVar = {" ": BLACK, "#": STONE, "P": CYAN, "Q": GREEN, "~": BLUE}
    recording = Recording(
        actions=dict(enumerate(Action, 1)),
        quits=(0, 6),
        hidden=("which_goal", "speckle_packed", "speckle_shape"),
        read_hidden=_read_hidden,
        reason_to_skip=_reason_to_skip,
    )

    @property
    def default_params(self) -> TMazeParams:
        return TMazeParams()

    def draw(self, key: PRNGKeyArray, params: TMazeParams) -> TMazeHidden:
        bits = jax.random.bits(key, (3,), jnp.uint32)
        return TMazeHidden((bits[0] & 1).astype(jnp.int8), HashedSpeckle(bits[1:]))

    def check_hidden(self, hidden: TMazeHidden, params: TMazeParams) -> None:
        Whole(0, 1).check("which_goal", hidden.which_goal)
        if not isinstance(hidden.speckle, AbstractSpeckle):
            raise TypeError(
                f"speckle is {type(hidden.speckle).__name__}: it must be a HashedSpeckle, or a "
                "mask of the world's cells made with GivenSpeckle.of(mask)"
            )

    def begin(self, hidden: TMazeHidden, params: TMazeParams) -> TMazeState:
        timeout = jnp.asarray(params.timeout_frames, jnp.int32)
        here = _around(world.START[0], world.START[1])
        return TMazeState(
            frame=jnp.int32(0),
            limit=jnp.where(timeout < 0, NO_LIMIT, timeout),
            camera=jnp.array(_FIRST_CAMERA, jnp.int32),
            shift=jnp.zeros(2, jnp.int32),
            player_col=jnp.int32(_PLAYER_COL),
            permits=~(here >> world.WALL_BITS) & 0b1111,
            teleported=jnp.int32(-1),
            paid=jnp.asarray(False),
            hidden=TMazeHidden(jnp.asarray(hidden.which_goal, jnp.int8), hidden.speckle),
        )

    def advance(
        self, key: PRNGKeyArray, state: TMazeState, action: Int[Array, ""], params: TMazeParams
    ) -> tuple[TMazeState, Float[Array, ""]]:
        frame = state.frame + 1
        ends = frame >= state.limit
        shift, frozen = _teleport(state, frame, params)
        old_corner = state.camera + state.shift
        before = _around(old_corner[0] + _PLAYER_ROW, old_corner[1] + state.player_col)

        # Move the camera, or the player where the camera cannot follow (outer columns of level 5).
        action = jnp.where((action < 0) | (action > Action.STAY), Action.STAY, action)
        may_move = ~frozen & ((state.permits >> action) & 1 == 1)
        move = jnp.stack([jnp.asarray(_ROW_MOVES)[action], jnp.asarray(_COL_MOVES)[action]])
        moved = state.camera + move
        follows = (moved[1] >= 0) & (moved[1] <= _LAST_CAMERA_COL)
        camera = jnp.where(may_move & follows, moved, state.camera)
        wall_ahead = (before >> (world.WALL_BITS + action)) & 1 == 1
        strays = may_move & ~follows & ~wall_ahead
        player_col = state.player_col + strays * move[1]

        # A wall forbids the next move, but not where a pad or the open teleporter was drawn over
        # it on the last frame: marks lag a frame behind the walls. That lets the player walk into
        # the wall behind a goal in the last two frames, as in the original. (The cue and the edge
        # of the view never matter: the player is at most two columns from the middle.)
        corner = camera + shift
        here = _around(corner[0] + _PLAYER_ROW, corner[1] + player_col)
        lagging = _around(old_corner[0] + _PLAYER_ROW, old_corner[1] + player_col)
        covered = lagging >> world.PAD_BITS
        covered |= (lagging >> world.TELEPORTER_BITS) * _is_open(state.frame, params)
        permits = (~(here >> world.WALL_BITS) | covered) & 0b1111

        # Goals are tested where the player stood before this move.
        test_corner = state.camera + shift
        on = _around(test_corner[0] + _PLAYER_ROW, test_corner[1] + player_col)
        goal = jnp.where(state.hidden.which_goal == 0, world.ON_LEFT, world.ON_RIGHT)
        reached = (on & (world.ON_LEFT | world.ON_RIGHT) != 0) & ~ends
        bonus = jnp.where(on & goal != 0, 1.0, -1.0) * reached
        cost = jnp.where(ends | (frame <= 1), 0.0, -_STEP_COST)

        enters = (here & world.ON_TELEPORTER != 0) & _is_open(frame, params)
        enters &= state.teleported < 0
        return TMazeState(
            frame=frame,
            limit=jnp.where(reached, frame + 1, state.limit),
            camera=camera,
            shift=shift,
            player_col=player_col,
            permits=permits,
            teleported=jnp.where(enters, frame, state.teleported),
            paid=state.paid | reached,
            hidden=state.hidden,
        ), cost + bonus

    def codes(self, state: TMazeState, params: TMazeParams) -> UInt8[Array, "7 11"]:
        corner = state.camera + state.shift
        row = (corner[0] + np.arange(world.VIEW_ROWS)) % world.ROWS
        first = corner[1] % world.COLS
        view_row, view_col = np.arange(world.VIEW_ROWS), np.arange(world.VIEW_COLS)

        # A row of the view is one word, two bits per cell; first what the world has there.
        word = jnp.asarray(world.VIEW)[row * world.COLS + first]  # [7]
        low, high = word & world.LOW_BITS, (word >> 1) & world.LOW_BITS
        col = first + view_col
        col = jnp.where(col >= world.COLS, col - world.COLS, col)
        kept = state.hidden.speckle.kept(row[:, None] * world.COLS + col).astype(jnp.uint32)
        kept = jnp.sum(kept << (2 * view_col).astype(np.uint32), axis=1, dtype=jnp.uint32)
        wall = low & (~high | kept)  # walls, and dirt that is drawn
        # The only marks in the teleporter's row are the teleporter.
        marks = (row != world.TELEPORTER_ROW) | _is_open(state.frame, params)
        mark = jnp.where(marks, high & ~low, jnp.uint32(0))
        # Then the cue over it: a wall and a mark at once.
        side = jnp.asarray(_CUE_WORDS)[state.hidden.which_goal.astype(jnp.int32)]
        cue = jnp.where((view_row >= 4) & _cue_shown(state, params), side, jnp.uint32(0))
        word = wall | (mark << 1) | cue | (cue << 1)
        player = jnp.where(view_row == _PLAYER_ROW, state.player_col, -1).astype(jnp.uint8)

        look = (word[:, None] >> (2 * view_col).astype(np.uint32)).astype(jnp.uint8) & 3
        codes = jnp.where(look >= 2, jnp.uint8(_MARK + 2) - look, look)  # 2 mark, 3 cue
        return jnp.where(view_col.astype(np.uint8) == player[:, None], jnp.uint8(_PLAYER), codes)

    def over(self, state: TMazeState, params: TMazeParams) -> Bool[Array, ""]:
        return state.frame >= state.limit

    def timed_out(self, state: TMazeState, params: TMazeParams) -> Bool[Array, ""]:
        return self.over(state, params) & ~state.paid

    def phase(self, state: TMazeState, params: TMazeParams) -> str:
        if self.over(state, params):
            return "over: out of time" if self.timed_out(state, params) else "over"
        if state.paid:
            return "goal reached"
        if state.teleported < 0:
            return "chamber" + (": the teleporter is open" if _is_open(state.frame, params) else "")
        if state.frame == state.teleported:
            return "on the teleporter"
        left = int(state.teleported + jnp.maximum(params.limbo_time, 1) - state.frame)
        return f"limbo: {left} frames left" if left > 0 else "maze"

    def max_score(
        self, params: TMazeParams | None = None, hidden: TMazeHidden | None = None
    ) -> float:
        """1 less 0.001 per frame of the fastest way to the goal, if there is time for it."""
        params = self.default_params if params is None else params
        goals = (0, 1) if hidden is None else (int(hidden.which_goal),)
        return float(np.mean([_best_score(params, goal) for goal in goals]))

    def perfect_actions(
        self, params: TMazeParams, hidden: TMazeHidden
    ) -> Int[np.ndarray, " steps"]:
        """Wait on the teleporter, choose the right arm, and walk straight to its goal."""
        goal, timeout = int(hidden.which_goal), int(params.timeout_frames)
        aside = Action.LEFT if goal == 0 else Action.RIGHT
        col, enters, reaches = _fastest(params, goal)
        actions = [Action.UP] * 2 + [aside] * abs(col - world.START[1])
        actions += [Action.STAY] * (enters - len(actions))
        held = int(params.limbo_time) + 1 if params.limbo_time else 2
        actions += [Action.STAY] * held
        actions += [aside] * (reaches - enters - held - 5) + [Action.DOWN] * 5
        actions += [Action.STAY] * 2
        if timeout >= 0:
            end = reaches + 2 if reaches + 1 < timeout else timeout
            actions = (actions + [Action.STAY] * timeout)[:end]
        return np.array(actions, np.int32)

    def episode_length(self, params: TMazeParams) -> int:
        """The chamber, limbo, and 150 steps in the maze."""
        return int(params.teleport_delay) + int(params.limbo_time) + 150

    def memory_span(self, params: TMazeParams) -> int:
        """From the cue, through limbo, to the end of an arm: at most 60 moves at level 4."""
        return int(params.teleport_delay) + int(params.limbo_time) + 60


def _fastest(params: TMazeParams, goal: int) -> tuple[int, int, int]:
    """The fastest way to a goal: (teleporter column, frame there, frame on the goal).

    Without limbo the player comes out in the column where he went in, so a step aside while the
    teleporter is closed saves one later.
    """
    level, delay, limbo = int(params.level), int(params.teleport_delay), int(params.limbo_time)
    pad = int(world.LEFT_WALL[level] + 3 if goal == 0 else world.RIGHT_WALL[level] - 3)
    ways = []
    for col in (94, 93, 95):
        enters = max(2 + abs(col - world.START[1]), delay - 1)
        out, held = (world.MAZE_COL, limbo + 1) if limbo else (col, 2)
        ways.append((enters + held + abs(pad - out) + 5, col, enters))
    reaches, col, enters = min(ways, key=lambda way: way[0])
    return col, enters, reaches


def _best_score(params: TMazeParams, goal: int) -> float:
    reaches, timeout = _fastest(params, goal)[2], int(params.timeout_frames)
    if timeout < 0 or reaches + 1 < timeout:
        return 1 - _STEP_COST * reaches
    return -_STEP_COST * max(0, timeout - 2)


def _teleport(
    state: TMazeState, frame: Int[Array, ""], params: TMazeParams
) -> tuple[Int[Array, "2"], Bool[Array, ""]]:
    """(the scenery's shift on this frame, whether the player is held)."""
    gone = state.teleported >= 0
    since = frame - state.teleported
    limbo = params.limbo_time
    into_limbo = gone & (since == 1) & (limbo > 0)
    into_maze = gone & (since == jnp.where(limbo > 0, limbo, 1))
    player = state.camera[1] + state.shift[1] + state.player_col  # its column in the world
    down = 9 + world.LEVEL_ROWS * params.level
    back = jnp.where(limbo > 0, world.MAZE_COL - world.LIMBO_COL, 0)
    shift = state.shift + jnp.stack(
        [
            jnp.where(into_maze, down, 0),
            jnp.where(into_limbo, world.LIMBO_COL - player, jnp.where(into_maze, back, 0)),
        ]
    )
    # The frame of a shift and the one after it.
    frozen = (since == 1) | (since == 2) | (since == limbo) | (since == limbo + 1)
    return shift.astype(jnp.int32), gone & frozen


def _is_open(frame: Int[Array, ""], params: TMazeParams) -> Bool[Array, ""]:
    return frame >= params.teleport_delay - 1


def _cue_shown(state: TMazeState, params: TMazeParams) -> Bool[Array, ""]:
    here = (state.teleported < 0) | (state.frame <= state.teleported)
    return here | params.cue_after_teleport


def _around(row: IntLike, col: IntLike) -> Int[Array, ""]:
    """The bits about a world cell and its neighbours."""
    cell = (row % world.ROWS) * world.COLS + col % world.COLS
    return jnp.asarray(world.AROUND)[cell]
