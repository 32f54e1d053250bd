"""The three tasks as subcommands of `play` and `film`: one flag for each parameter.

These repeat the parameter records of `longpass.envs`, so that `--help` need not import JAX; a
test holds the two together.
"""

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any

import tyro

if TYPE_CHECKING:
    from longpass.envs import Environment


@dataclasses.dataclass
class CuedCatchTask:
    """Learn which ball each cue names, then catch that ball, trial after trial."""

    initial_cue_duration: int = 10
    """Frames for which each cue is shown with its ball at the beginning."""
    cue_duration: int = 10
    """Frames for which a trial's cue is shown; from 7 on for the whole trial."""
    num_trials: int = 100
    """Trials in an episode."""
    always_show_ball_symbol: bool = False
    """Show which ball is meant in trials too."""
    reward_sigma: float = 0.0
    """Deviation of noise on the reward."""
    reward_free_trials: int = 40
    """How many of the first trials pay nothing."""


@dataclasses.dataclass
class TMazeTask:
    """Remember a cue through limbo, then choose the arm of the maze that it named."""

    level: int = 4
    """Which maze, 0 (short) to 5 (long)."""
    cue_after_teleport: bool = False
    """Keep the cue in view after the teleport."""
    timeout_frames: int = 1000
    """The frame on which time runs out; negative: never."""
    teleport_delay: int = 50
    """How late the teleporter opens, in frames."""
    limbo_time: int = 280
    """Frames from the teleporter to the maze: 0 (no limbo) or at least 3."""


@dataclasses.dataclass
class SequenceRecallTask:
    """Watch a sequence of lights, then walk over them in the same order."""

    sequence_length: int = 4
    """Lights in the sequence."""
    demo_light_on_frames: int = 60
    """Frames for which each light is shown."""
    demo_light_off_frames: int = 30
    """Dark frames before each light."""
    pause_frames: int = 1
    """Dark frames between the lights and recall."""
    timeout_frames: int = 1000
    """The frame on which time runs out; negative: never."""


Task = (
    Annotated[CuedCatchTask, tyro.conf.subcommand("cued-catch")]
    | Annotated[TMazeTask, tyro.conf.subcommand("t-maze")]
    | Annotated[SequenceRecallTask, tyro.conf.subcommand("sequence-recall")]
)


def environment(task: Any) -> "tuple[Environment[Any, Any, Any], Any]":
    """(environment, parameters) that the flags ask for."""
    from longpass import envs

    env, params = {
        CuedCatchTask: (envs.CuedCatch(), envs.CuedCatchParams),
        TMazeTask: (envs.TMaze(), envs.TMazeParams),
        SequenceRecallTask: (envs.SequenceRecall(), envs.SequenceRecallParams),
    }[type(task)]
    return env, params(**dataclasses.asdict(task))
