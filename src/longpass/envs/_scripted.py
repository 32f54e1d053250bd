"""Perfect players: they read the hidden draws, and earn exactly `max_score`."""

from typing import Any

import numpy as np

from longpass.envs import _recall_paths
from longpass.envs._cued_catch import CuedCatch, CuedCatchHidden, CuedCatchParams
from longpass.envs._environment import Action, Environment
from longpass.envs._sequence_recall import (
    SequenceRecallHidden,
    SequenceRecallParams,
    first_free_frame,
)
from longpass.envs._t_maze import TMaze, TMazeHidden, TMazeParams, fastest


def perfect_actions(env: Environment[Any, Any, Any], params: Any, hidden: Any) -> np.ndarray:
    """The actions of a perfect episode with these hidden draws, from the first to the last."""
    if isinstance(env, CuedCatch):
        actions = _catch(params, hidden)
    elif isinstance(env, TMaze):
        actions = _maze(params, hidden)
    else:
        actions = _recall(params, hidden)
    return np.array(actions, np.int32)


def random_actions(env: Environment[Any, Any, Any], seed: int, count: int) -> np.ndarray:
    """Actions that know nothing, each equally likely."""
    return np.random.default_rng(seed).integers(0, env.action_space().n, count, dtype=np.int32)


def _catch(params: CuedCatchParams, hidden: CuedCatchHidden) -> list[Action]:
    """Be in the row of the named ball from the trial's first frame on."""
    balls = np.asarray(hidden.cues_to_balls)[np.asarray(hidden.cue_sequence)]
    taught = 4 * int(params.initial_cue_duration) - 1
    actions = [Action.STAY] * taught
    for ball in balls[: params.num_trials]:
        actions += [Action.UP if ball == 0 else Action.DOWN] + [Action.STAY] * 6
    return actions


def _maze(params: TMazeParams, hidden: TMazeHidden) -> list[Action]:
    """Wait on the teleporter, choose the right arm, and walk straight to its goal."""
    goal = int(hidden.which_goal)
    aside = Action.LEFT if goal == 0 else Action.RIGHT
    col, enters, reaches = fastest(params, goal)
    actions = [Action.UP] * 2 + [aside] * abs(col - 94)
    actions += [Action.STAY] * (enters - len(actions))
    held = int(params.limbo_time) + 1 if params.limbo_time else 2
    actions += [Action.STAY] * held + [aside] * (reaches - enters - held - 5) + [Action.DOWN] * 5
    actions += [Action.STAY] * 2
    timeout = int(params.timeout_frames)
    return actions if timeout < 0 else (actions + [Action.STAY] * timeout)[: _end(reaches, timeout)]


def _end(reaches: int, timeout: int) -> int:
    return reaches + 2 if reaches + 1 < timeout else timeout


def _recall(params: SequenceRecallParams, hidden: SequenceRecallHidden) -> list[Action]:
    """Wait for the demonstration to end, and take the shortest walk."""
    free = int(first_free_frame(params))
    clock = _recall_paths.Clock(free, int(params.timeout_frames))
    walk = _recall_paths.best_walk(tuple(np.asarray(hidden.sequence).tolist()), clock)
    actions = [Action.STAY] * (free - 1) + [Action(action) for action in walk.actions]
    return (actions + [Action.STAY] * max(3, walk.end))[: walk.end]
