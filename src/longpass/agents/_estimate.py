"""About how long training takes, so that nobody starts a week of work by mistake."""

from longpass.agents._settings import RunSettings

# Seconds on one core of the machine that results/ was made on, fitted by hand to its records.
_START_SECONDS = 25.0  # compiling
_STEPS_PER_SECOND = 40_000.0  # of an agent of the usual size


def estimate_steps(steps: float | int) -> float:
    """Core-seconds that an agent takes for a number of environment steps, within a factor of 2.

    **Arguments:**

    - `steps`: of the environment, over all copies.

    **Returns:**

    Seconds of one core, compiling included.
    """
    return _START_SECONDS + steps / _STEPS_PER_SECOND


def estimate_round(run: RunSettings, episodes: int) -> float:
    """Core-seconds that a round of a member will take, within a factor of two.

    The length of episodes of the T-maze and Sequence Recall depends on how they are played.

    **Arguments:**

    - `run`: the member.
    - `episodes`: of the round.

    **Returns:**

    Seconds of one core, compiling included.
    """
    return estimate_steps(episodes * run.load_environment().episode_length(run.params))
