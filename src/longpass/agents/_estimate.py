"""About how long runs take, so that nobody starts a week of work by mistake."""

from longpass.agents._config import Config

# Seconds on one core of the machine that results/ was made on, fitted by hand to its records.
_AGENT_START = 25.0  # an agent: compiling
_STEPS = 40_000.0  # of an agent of the usual size, a second


def estimate_round(config: Config, episodes: int) -> float:
    """Core-seconds that a round of a member will take, give or take a factor of two: how long
    episodes of the T-maze and Sequence Recall are depends on how they are played."""
    env, params = config.world()
    return _AGENT_START + episodes * env.episode_length(params) / _STEPS
