"""The parameters of the worlds: what each means, its default and its bounds.

The defaults of the first three are the paper's. This file does not import JAX; the file of each
environment registers its parameters as a pytree.
"""

from typing import Annotated

from longpass.envs._bounds import (
    MOST_FRAMES,
    BoolOrArray,
    Flag,
    IntOrArray,
    Real,
    Whole,
    known_values,
    world_params,
)

_FRAME_OR_NEVER = Whole(-MOST_FRAMES)


class _LimboTime(Whole):
    """0, or at least 3."""

    def check(self, name: str, value: object) -> None:
        super().check(name, value)
        for one in known_values(value):
            if one in (1, 2):
                raise ValueError(
                    f"{name} is {one}: it must be 0 (no limbo) or at least 3. The original game "
                    "misplaces the player or a goal with 1 and 2, so they are not offered"
                )


@world_params
class CuedCatchParams:
    """Learn which ball each cue names, then catch that ball, trial after trial."""

    initial_cue_duration: Annotated[IntOrArray, Whole(1, 10**8)] = 10
    """Frames for which each cue is shown with its ball while the cues are taught."""
    cue_duration: Annotated[IntOrArray, Whole(0)] = 10
    """Frames for which the cue of a trial is shown; from 7 on, it is shown for the whole trial."""
    num_trials: Annotated[int, Whole(0, 10**6, static=True)] = 100
    """Trials per episode. It sets the size of the state, so it is fixed when compiling."""
    always_show_ball_symbol: Annotated[BoolOrArray, Flag()] = False
    """Show the symbol of the ball beside the cue of each trial: no memory is needed."""
    reward_sigma: Annotated[float, Real(0.0)] = 0.0
    """Standard deviation of the noise on the rewards of paid trials. It is fixed when compiling;
    without noise none is drawn."""
    reward_free_trials: Annotated[IntOrArray, Whole(0)] = 40
    """The first trials, which are not paid: the memory must last longer."""

    @property
    def truncate_at_timeout(self) -> bool:
        """There is no time limit: all episodes have the same length."""
        return False


@world_params
class TMazeParams:
    """Remember a cue through limbo, then choose the arm of the maze that it named."""

    level: Annotated[IntOrArray, Whole(0, 5)] = 4
    """Which maze, 0 to 5: 12, 17, 24, 37, 57 (to the right 59) or 93 (95) moves to a goal."""
    cue_after_teleport: Annotated[BoolOrArray, Flag()] = False
    """Keep the cue in view after the teleport: no memory is needed."""
    timeout_frames: Annotated[IntOrArray, _FRAME_OR_NEVER] = 1000
    """The frame on which time runs out; negative: never."""
    teleport_delay: Annotated[IntOrArray, Whole(0)] = 50
    """The teleporter opens on frame teleport_delay - 1 (0 and 1: it is open from the start)."""
    limbo_time: Annotated[IntOrArray, _LimboTime(0)] = 280
    """Frames from the teleporter to the maze, during which the player is held in limbo: 0 (no
    limbo) or at least 3. 1 and 2 are refused: the original game gets them wrong."""
    truncate_at_timeout: Annotated[BoolOrArray, Flag()] = False
    """Report running out of time as `truncated`. By default it is `terminated`, with discount 0,
    as in the original."""


@world_params
class SequenceRecallParams:
    """Watch a sequence of lights, then walk over them in the same order."""

    sequence_length: Annotated[int, Whole(1, 10**4, static=True)] = 4
    """Lights in the sequence. It sets the size of the state, so it is fixed when compiling."""
    demo_light_on_frames: Annotated[IntOrArray, Whole(0, 10**4)] = 60
    """Frames for which each light of the demonstration is on (0 and 1 last 2 frames)."""
    demo_light_off_frames: Annotated[IntOrArray, Whole(0, 10**4)] = 30
    """Dark frames before each light of the demonstration (0 and 1 last 2 frames)."""
    pause_frames: Annotated[IntOrArray, Whole(0, 10**8)] = 1
    """Dark frames between demonstration and recall (0 and 1 last 2 frames)."""
    timeout_frames: Annotated[IntOrArray, _FRAME_OR_NEVER] = 1000
    """The frame on which time runs out; negative: never."""
    truncate_at_timeout: Annotated[BoolOrArray, Flag()] = False
    """Report running out of time as `truncated`. By default it is `terminated`, with discount 0,
    as in the original."""


@world_params
class DelayedCueParams:
    """Remember one cue over a delay in which nothing happens. Not of the paper."""

    delay: Annotated[IntOrArray, Whole(1)] = 60
    """Steps from the frame with the cue to the frame with the question."""

    @property
    def truncate_at_timeout(self) -> bool:
        """There is no time limit: all episodes have the same length."""
        return False
