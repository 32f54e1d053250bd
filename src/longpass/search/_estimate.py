"""About how long runs take, so that nobody starts a week of work by mistake."""

from collections.abc import Iterable

from longpass.learners import Config, StreamSettings

# Seconds on one core of the machine that results/ was made on, fitted by hand to its records.
_START = 7.0  # making a network and compiling
_CALL = 8e-6  # an update, whatever its size
_WEIGHT = 1.2e-9  # a weight's step of Adam
_POOL_SYMBOL = 2.5e-8  # drawing and filtering a symbol
_FLOP = 1 / 25e9  # an operation of a layer
_AGENT_START = 25.0  # an agent: compiling
_STEPS = 40_000.0  # of an agent of the usual size, a second


def estimate(runs: Iterable[StreamSettings]) -> float:
    """Core-seconds that the runs will take, give or take a factor of two."""
    return sum(_seconds(settings.resolved()) for settings in runs)


def estimate_round(config: Config, episodes: int) -> float:
    """Core-seconds that a round of a member will take, give or take a factor of two: how long
    episodes of the T-maze and Sequence Recall are depends on how they are played."""
    return _AGENT_START + episodes * _episode(config) / _STEPS


def _episode(config: Config) -> int:
    """About how many steps an episode has."""
    params = config.world()[1]
    match config.task:
        case "cued_catch":
            return 4 * params.initial_cue_duration + 7 * params.num_trials
        case "t_maze":
            return params.teleport_delay + params.limbo_time + 150
        case _:
            shown = params.demo_light_on_frames + params.demo_light_off_frames
            return params.sequence_length * shown + 60


def _seconds(s: StreamSettings) -> float:
    assert s.symbols is not None
    assert s.D is not None
    labels = s.symbols / 105
    if s.k is not None and s.V is not None:
        weights = (s.k + 1) * s.V * (s.D + s.M)
        flops = 6 * weights * labels + s.updates * s.batch_size * s.k * (s.k + 8) * s.D * 2
        streams = _POOL_SYMBOL * s.symbols * (1 + s.k / 8)
    else:
        weights = 4 * s.D * (s.D + 9) + s.D * s.M
        # Without a label in the minibatch there is no backward pass.
        learned = min(1.0, s.minibatch / 105)
        flops = 2 * 4 * s.D * (s.D + 8 + 10) * s.symbols * (1 + 2 * learned)
        streams = _POOL_SYMBOL * s.symbols
    return _START + s.updates * (_CALL + _WEIGHT * weights) + _FLOP * flops + streams
